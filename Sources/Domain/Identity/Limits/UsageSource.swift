import ChatterdBasics

/// The source of credentials, whose use is counted together: a key with all tokens made with it, or the external issuers of an app.
public struct UsageSource: Sendable, Hashable {
    /// The source in the store.
    public let text: String

    /// A key of an app, by its id.
    public static func key(_ id: String) -> UsageSource { UsageSource(text: "key \(id)") }

    /// The external issuers of an app.
    public static func issuers(of app: String) -> UsageSource { UsageSource(text: "issuer \(app)") }

    /// The source of a credential; `nil` for one whose use is not counted.
    init?(of credential: Credential, owner: Owner) {
        switch credential {
        case .none, .adminToken: return nil
        case .key(let id), .token(let id, _): self = .key(id)
        case .issuer: self = .issuers(of: owner.app)
        case .session(_, let credential), .link(let credential): self.init(of: credential, owner: owner)
        }
    }

    private init(text: String) {
        self.text = text
    }

    /// Compares bytes, as PostgreSQL does.
    public static func == (left: UsageSource, right: UsageSource) -> Bool {
        ExactText(left.text) == ExactText(right.text)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ExactText(text))
    }
}
