/// A change that the audit log keeps. It has no secret and no text of a message.
public struct AuditEntry: Sendable, Hashable {
    /// The kinds of changes.
    public enum Action: String, Sendable, CaseIterable {
        case keyCreated = "key_created"
        case keyRevoked = "key_revoked"
        case keyRotated = "key_rotated"
        case personRevoked = "person_revoked"
        case upstreamAdded = "upstream_added"
        case upstreamReplaced = "upstream_replaced"
        case upstreamRemoved = "upstream_removed"
        case modelPulled = "model_pulled"
        case modelPushed = "model_pushed"
        case modelCreated = "model_created"
        case modelCopied = "model_copied"
        case modelDeleted = "model_deleted"
        case conversationDeleted = "conversation_deleted"
        case conversationsDeleted = "conversations_deleted"
    }

    /// The credential that made the change, such as `key 0123456789abcdef`.
    public let actor: String
    public let action: Action
    /// The app that the change concerns; `nil` for none.
    public let app: String?
    /// The name of the changed object.
    public let subject: String

    public init(_ action: Action, of subject: String, app: String? = nil, by actor: String) {
        self.action = action
        self.subject = subject
        self.app = app
        self.actor = actor
    }
}

extension AuditEntry {
    /// The deletion of a conversation.
    public init(deletionOf key: ConversationKey, by actor: String) {
        let subject = key.owner.person.map { "\(key.name) of \($0)" } ?? key.name
        self.init(.conversationDeleted, of: subject, app: key.owner.app, by: actor)
    }

    /// The deletion of all conversations of an owner.
    public init(deletionOf owner: Owner, by actor: String) {
        self.init(.conversationsDeleted, of: owner.person ?? owner.app, app: owner.app, by: actor)
    }
}

extension Credential {
    /// The credential in the audit log.
    public var actor: String {
        switch self {
        case .none: "no credential"
        case .adminToken: "admin token"
        case .key(let id): "key \(id)"
        case .token(let key, _): "token of key \(key)"
        case .issuer(let issuer, _): "token of \(issuer)"
        case .session(let id, let credential): "session \(id) of \(credential.actor)"
        case .link(let credential): "link of \(credential.actor)"
        }
    }
}
