import ChatterdBasics

/// The rights that a client token of chatterd grants: its private claims, together with the person in `sub`.
///
/// Read it only from a token that chatterd signed itself. Other issuers use claims of these names with other meanings.
public struct TokenGrant: Sendable, Hashable {
    /// The issuer and the audience of client tokens. No external issuer has this name.
    public static let issuer = "chatterd"
    /// The limit of conversations, and of models.
    public static let maximumNames = 64
    /// The limit of a model's name, in bytes.
    public static let maximumModelLength = 256
    /// The limit of the id of a key, in bytes.
    private static let maximumKeyLength = 64
    /// The limit of `scope`, in bytes.
    private static let maximumScopeLength = 256

    /// The app, and the person if the token has one.
    public let owner: Owner
    /// The id of the key of the app that made the token. The token ends with that key.
    public let key: String
    /// The permitted kinds of requests.
    public let scopes: Set<Scope>
    /// The names of the permitted conversations; `nil` for all of the owner.
    public let conversations: Set<ExactText>?
    /// The names of the permitted models; `nil` for all.
    public let models: Set<ExactText>?
    /// The limits of the token.
    public let allowance: Allowance

    /// Creates a grant.
    ///
    /// - Throws: `invalidName` for names that break the rules; `malformed` for more conversations or models than their limit, and for
    ///   limits below 0 or too high.
    public init(
        owner: Owner, key: String, scopes: Set<Scope>, conversations: Set<ExactText>? = nil,
        models: Set<ExactText>? = nil, allowance: Allowance = Allowance()
    ) throws(TokenError) {
        guard Owner(validating: owner.app, person: owner.person) != nil,
            conversations?.allSatisfy({ Owner.isName($0.text, upTo: ConversationKey.maximumNameLength) }) != false,
            models?.allSatisfy({ Self.isModel($0.text) }) != false
        else { throw .invalidName }
        guard (conversations ?? []).count <= Self.maximumNames else { throw .malformed("conversations") }
        guard (models ?? []).count <= Self.maximumNames else { throw .malformed("models") }
        let limits = [allowance.requestsPerMinute, allowance.tokensPerDay, allowance.concurrentReplies]
        guard limits.allSatisfy({ $0.map { 0...Allowance.highestLimit ~= $0 } != false }) else {
            throw .malformed("limits")
        }
        self.owner = owner
        self.key = key
        self.scopes = scopes
        self.conversations = conversations
        self.models = models
        self.allowance = allowance
    }

    private static func isModel(_ name: String) -> Bool {
        name.utf8.count <= maximumModelLength && Owner.isName(name, upTo: maximumModelLength)
    }

    /// Reads the grant of a token of chatterd. Scopes that this version does not know are ignored.
    ///
    /// - Throws: `malformed`, `invalidName`.
    public init(of token: JSONWebToken) throws(TokenError) {
        let claims = try BoundedObject(token.payload)
        // The rules of names are in Unicode scalars, of 4 bytes at most.
        guard let app = try claims.text("app", upTo: 4 * Owner.maximumAppLength) else { throw .malformed("app") }
        guard let key = try claims.text("key", upTo: Self.maximumKeyLength) else { throw .malformed("key") }
        let words = try claims.text("scope", upTo: Self.maximumScopeLength) ?? ""
        let limits = try claims.object("limits")
        let allowance = Allowance(
            requestsPerMinute: try limits?.number("requests_per_minute", in: 0...Allowance.highestLimit),
            tokensPerDay: try limits?.number("tokens_per_day", in: 0...Allowance.highestLimit),
            concurrentReplies: try limits?.number("concurrent_replies", in: 0...Allowance.highestLimit))
        let conversations = try claims.texts(
            "conversations", atMost: Self.maximumNames, upTo: 4 * ConversationKey.maximumNameLength)
        let models = try claims.texts("models", atMost: Self.maximumNames, upTo: Self.maximumModelLength)
        try self.init(
            owner: Owner(app: app, person: token.claims.subject), key: key,
            scopes: Set(words.unicodeScalars.split(separator: " ").compactMap { Scope(word: String($0)) }),
            conversations: conversations.map { Set($0.map(ExactText.init)) },
            models: models.map { Set($0.map(ExactText.init)) }, allowance: allowance)
    }
}
