import ChatterdBasics

/// The result of checking a credential: the owner that a request acts for, and what it may do.
///
/// Handlers see no credential, only a principal.
public struct Principal: Sendable, Hashable {
    /// The owner; `nil` if the request itself names the app (`open` mode) and for the administrator.
    public let owner: Owner?
    /// The permitted kinds of requests.
    public let scopes: Set<Scope>
    /// The names of the permitted conversations; `nil` for all of the owner.
    public var conversations: Set<ExactText>?
    /// The names of the permitted models; `nil` for all.
    public var models: Set<ExactText>?
    /// The only reply that the principal may read; `nil` for any of the permitted conversations.
    public var reply: String?
    /// The limits of the credential.
    public var allowance = Allowance()
    /// The limits of the key behind a client token; none for other credentials.
    public var keyAllowance = Allowance()
    /// The end of the credential, in seconds since 1970; `nil` if it has none.
    public var expiresAt: Int64?
    /// The credential.
    public let credential: Credential
    #if DEBUG
        /// Whether the checks of apps, conversations and replies are off: `Configuration.Access.hasHandlerChecks`.
        package var isUnchecked = false
    #else
        private var isUnchecked: Bool { false }
    #endif

    /// Creates a principal.
    public init(owner: Owner?, scopes: Set<Scope>, credential: Credential) {
        self.owner = owner
        self.scopes = scopes
        self.credential = credential
    }

    /// A request without a credential in `open` mode: it acts for any app that it names.
    public static let anyone = Principal(owner: nil, scopes: [.chat, .read], credential: .none)

    /// The administrator: no app, all scopes of administration.
    public static let administrator = Principal(owner: nil, scopes: [.admin], credential: .adminToken)

    /// Whether the request itself names the app.
    public var actsForAnyApp: Bool { owner == nil && scopes.contains(.chat) }

    /// Throws `forbidden` unless the credential has the scope.
    public func require(_ scope: Scope) throws(AccessError) {
        guard scopes.contains(scope) else {
            throw AccessError(.forbidden, "This credential does not have the scope \(scope.rawValue).")
        }
    }

    /// The owner of a request that names an app, or none.
    ///
    /// - Returns: `nil` if neither the credential nor the request names an app.
    /// - Throws: `forbidden` for another app than that of the credential, and for a credential without an app.
    public func owner(naming app: String?) throws(AccessError) -> Owner? {
        guard let owner else {
            guard scopes.contains(.chat) || scopes.contains(.read) else {
                throw AccessError(.forbidden, "This credential belongs to no app. Use a key of an app.")
            }
            return app.map { Owner(app: $0) }
        }
        if isUnchecked, let app { return Owner(app: app) }
        guard app.map(ExactText.init) ?? ExactText(owner.app) == ExactText(owner.app) else {
            throw AccessError(.forbidden, "This credential belongs to another app than the one that the request names.")
        }
        return owner
    }

    /// Throws `forbidden` unless the credential permits the conversation.
    public func require(_ key: ConversationKey) throws(AccessError) {
        guard permits(key) else {
            throw AccessError(.forbidden, "This credential does not permit this conversation.")
        }
    }

    /// Whether the principal may know of a conversation.
    public func permits(_ key: ConversationKey) -> Bool {
        guard let owner, !isUnchecked else { return true }
        return key.owner == owner && conversations?.contains(ExactText(key.name)) != false
    }

    /// Whether the principal may read a reply of a conversation.
    public func permits(reply id: String, of key: ConversationKey) -> Bool {
        guard let reply, !isUnchecked else { return permits(key) }
        return key.owner == owner && ExactText(reply) == ExactText(id)
    }

    /// Throws `forbidden` unless the credential permits the model.
    public func require(model: String) throws(AccessError) {
        guard permits(model: model) else {
            throw AccessError(.forbidden, "This credential does not permit this model.")
        }
    }

    /// Whether the credential permits the model.
    public func permits(model: String) -> Bool { models?.contains(ExactText(model)) != false }
}
