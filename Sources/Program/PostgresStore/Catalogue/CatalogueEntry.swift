import ChatterdIdentity

/// A conversation in the list of its owner.
public struct CatalogueEntry: Sendable, Equatable {
    public let key: ConversationKey
    /// The title that a client has given; `nil` without one.
    public let title: String?
    /// The beginning of the first message of the user, if the conversation has no title.
    public let opening: String?
    /// The time of the first change, in microseconds since 1970.
    public let createdAt: Int64
    /// The time of the last change, in microseconds since 1970.
    public let updatedAt: Int64
    public let isArchived: Bool
    /// Whether a reply is being generated. Only the newest messages are examined.
    public let isRunning: Bool
    /// The time by which the list orders it, in microseconds since 1970; `updatedAt` as a rule.
    let place: Int64
}
