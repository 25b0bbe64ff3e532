import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdPostgresStore
import ChatterdRelay

/// `POST /tokens` and `DELETE /people/:person`, for the servers of apps: docs/api.md.
struct TokenRoute: Sendable {
    /// The lifetime of a token unless the request says otherwise, in seconds.
    static let standardLifetime = 900
    /// The longest lifetime of a token, in seconds: a day.
    static let maximumLifetime = 86_400

    let registry: AccessRegistry

    /// Makes a client token for a person of the app, with no more rights than the key.
    @Sendable func create(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        let object = try RequestObject(
            try request.smallBody,
            members: ["person", "conversations", "models", "scopes", "expires_in"] + RequestObject.limits)
        let (owner, key) = try Self.issuer(principal)
        let person = try object.name("person", upTo: Owner.maximumPersonLength)
        let grant = try Self.grant(of: object, to: Owner(app: owner.app, person: person), key: key, by: principal)
        let lifetime = try object.number("expires_in", in: 1...Self.maximumLifetime) ?? Self.standardLifetime
        let token = try await registry.makeToken(
            grant, lifetime: Int64(lifetime), until: principal.expiresAt)
        Self.respond(token.text, lifetime: token.lifetime, to: responder)
    }

    /// Revokes all tokens of a person that were made until now, and ends their streams.
    @Sendable func revoke(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        let (owner, _) = try Self.issuer(principal)
        let person = request.parameter ?? ""
        try person.requireName("The name of a person", upTo: Owner.maximumPersonLength)
        try await registry.store.revoke(Owner(app: owner.app, person: person), by: principal.credential.actor)
        responder.respondEmptyObject()
    }

    /// The app and the key of a principal that makes tokens.
    ///
    /// - Throws: `forbidden` for a principal without a key, and for a person: a token makes no tokens.
    private static func issuer(_ principal: Principal) throws(RelayError) -> (Owner, key: String) {
        guard let owner = principal.owner, owner.person == nil, case .key(let id) = principal.credential else {
            throw RelayError(AccessError(.forbidden, "Only a key of an app makes and revokes tokens."))
        }
        return (owner, id)
    }

    private static func grant(
        of object: RequestObject, to owner: Owner, key: String, by principal: Principal
    ) throws(RelayError) -> TokenGrant {
        let scopes = try object.scopes("scopes") ?? principal.scopes.intersection([.chat, .read])
        guard scopes.isSubset(of: principal.scopes), scopes.isSubset(of: [.chat, .read]) else {
            throw RelayError(
                AccessError(.forbidden, "A token has the scopes chat and read, and none that the key lacks."))
        }
        let models = try object.names(
            "models", atMost: TokenGrant.maximumNames, upTo: TokenGrant.maximumModelLength)
        for model in models ?? [] {
            try principal.check(model: model)
        }
        let conversations = try object.names(
            "conversations", atMost: TokenGrant.maximumNames, upTo: ConversationKey.maximumNameLength)
        let allowance = try object.allowance()
        do throws(TokenError) {
            return try TokenGrant(
                owner: owner, key: key, scopes: scopes,
                conversations: conversations.map { Set($0.map(ExactText.init)) },
                models: models.map { Set($0.map(ExactText.init)) } ?? principal.models, allowance: allowance)
        } catch {
            throw RelayError(.invalidRequest, error.message)
        }
    }

    private static func respond(_ token: String, lifetime: Int64, to responder: Responder) {
        // RFC 6749 5.1 names these members.
        var body = ByteBuffer()
        body.appendJSON { json in
            json.object { json in
                json.member("access_token", token)
                json.member("token_type", "Bearer")
                json.member("expires_in", Int(lifetime))
            }
        }
        responder.respond(.created, json: body, fields: [.cacheControl: "no-store"])
    }
}
