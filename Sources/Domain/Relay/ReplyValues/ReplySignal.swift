/// A signal from another process to the one that generates a reply.
public struct ReplySignal: Sendable, Hashable {
    public var id: ReplyID
    /// The kind of the signal.
    public var kind: Kind

    /// The kinds of signals.
    public enum Kind: String, Sendable, CaseIterable {
        /// A client stops the reply.
        case stop
        /// A call of the reply that waits for an approval has an answer.
        case answer
        /// The reply is read in another process; valid for `readLifetime`.
        case read
        /// The store no longer has the reply as running: its conversation was replaced or deleted, or another process has closed it.
        case gone
    }

    /// The time for which a `read` signal is valid.
    public static let readLifetime = Duration.seconds(10)

    public init(id: ReplyID, kind: Kind) {
        self.id = id
        self.kind = kind
    }
}
