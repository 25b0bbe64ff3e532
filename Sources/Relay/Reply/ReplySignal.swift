/// What other processes tell the one that makes a reply.
public struct ReplySignal: Sendable, Hashable {
    /// The reply.
    public var id: ReplyID
    /// What they tell.
    public var kind: Kind

    /// What can be told.
    public enum Kind: String, Sendable, CaseIterable {
        /// Somebody wants it to stop.
        case stop
        /// Somebody reads it there; holds for `readLifetime`.
        case read
        /// The store has no such reply in the making any more: its conversation was replaced or deleted, or it was given up.
        case gone
    }

    /// How long a sign that somebody reads counts.
    public static let readLifetime = Duration.seconds(10)

    /// Makes a signal.
    public init(id: ReplyID, kind: Kind) {
        self.id = id
        self.kind = kind
    }
}
