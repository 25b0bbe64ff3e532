import ChatterdBasics

/// A key of an app, without its secret.
public struct AppKey: Sendable, Hashable {
    /// The limit of a label, in Unicode scalars.
    public static let maximumLabelLength = 100
    /// The limit of the number of models that a key lists.
    public static let maximumModels = 64

    /// The public part of the key's text.
    public let id: String
    /// The properties that its maker has chosen.
    public let grant: AppKeyGrant
    /// When it was made, in seconds since 1970.
    public let createdAt: Int64
    /// When it was revoked, in seconds since 1970; `nil` if it was not.
    public let revokedAt: Int64?

    public init(id: String, grant: AppKeyGrant, createdAt: Int64, revokedAt: Int64? = nil) {
        self.id = id
        self.grant = grant
        self.createdAt = createdAt
        self.revokedAt = revokedAt
    }

    /// Whether the key is valid at an instant, in seconds since 1970.
    public func isValid(at now: Int64) -> Bool {
        revokedAt == nil && grant.expiresAt.map { $0 > now } ?? true
    }

    /// The principal of a request with the key.
    public var principal: Principal {
        var principal = Principal(owner: Owner(app: grant.app), scopes: grant.scopes, credential: .key(id: id))
        principal.models = grant.models.map { Set($0.map(ExactText.init)) }
        principal.allowance = grant.allowance
        principal.expiresAt = grant.expiresAt
        return principal
    }
}
