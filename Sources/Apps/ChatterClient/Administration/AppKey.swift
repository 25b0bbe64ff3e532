#if canImport(FoundationEssentials)
    public import struct FoundationEssentials.Date
#else
    public import struct Foundation.Date
#endif

/// A key of an app.
public struct AppKey: Sendable, Hashable, Decodable {
    public let id: String
    public let app: String
    public let label: String
    public let scopes: [String]
    /// The models that it permits; `nil` for all.
    public let models: [String]?
    public let createdAt: Date
    public let expiresAt: Date?
    public let revokedAt: Date?
    /// The key itself, when it is made; `nil` ever after.
    public let key: String?
}
