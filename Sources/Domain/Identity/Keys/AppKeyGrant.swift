/// The properties of a key that its maker chooses.
public struct AppKeyGrant: Sendable, Hashable {
    /// The scopes of a key whose maker chooses none.
    public static let standardScopes: Set<Scope> = [.chat, .read, .tokens]

    /// The app that owns the key.
    public var app: String
    /// A note for people.
    public var label: String
    public var scopes: Set<Scope>
    /// The permitted models; `nil` for all.
    public var models: [String]?
    public var allowance: Allowance
    /// The end of the key, in seconds since 1970; `nil` for none.
    public var expiresAt: Int64?

    public init(
        app: String, label: String = "", scopes: Set<Scope> = standardScopes, models: [String]? = nil,
        allowance: Allowance = Allowance(), expiresAt: Int64? = nil
    ) {
        self.app = app
        self.label = label
        self.scopes = scopes
        self.models = models
        self.allowance = allowance
        self.expiresAt = expiresAt
    }
}
