/// The data of a conversation beside its rows.
public struct ConversationHeader: Sendable, Equatable {
    /// The limit of a title in an imported file, in bytes of UTF-8.
    public static let titleLimit = 4_096

    /// The name among the conversations of its owner.
    public var name: String
    /// The title; `nil` if it has none.
    public var title: String?
    /// The time of its creation, in microseconds since 1970.
    public var createdAt: Int64
    /// The time of its last change, in microseconds since 1970.
    public var updatedAt: Int64
    /// The time at which it was archived, in microseconds since 1970; `nil` if it is not archived.
    public var archivedAt: Int64?
    /// The metadata for the client, as JSON without braces; empty without any.
    public var metadata: [UInt8]

    public init(
        name: String, title: String? = nil, createdAt: Int64, updatedAt: Int64, archivedAt: Int64? = nil,
        metadata: [UInt8] = []
    ) {
        self.name = name
        self.title = title
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.archivedAt = archivedAt
        self.metadata = metadata
    }
}
