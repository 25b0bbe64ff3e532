/// The next step of a feed: a decision without I/O.
public enum FeedStep: Sendable, Equatable {
    /// The events behind the position come next.
    case events
    /// The reader begins at the present state, because it has no position.
    case start
    /// The reader begins again at the present state, because the events behind its position are incomplete.
    case reset(Reason)
    /// The conversation was deleted. The feed ends.
    case deleted

    /// The reason why a reader begins again; the raw values go to clients.
    public enum Reason: String, Sendable {
        /// Messages were replaced, imported or removed.
        case replaced
        /// The position is of an earlier conversation with this name, or of another state of the database.
        case unknown
    }

    /// Decides how a feed continues.
    ///
    /// - Parameters:
    ///   - position: the position of the reader; `nil` if it has none.
    ///   - head: the conversation; `nil` if it does not exist.
    ///   - isOpen: whether the feed has followed the conversation before, on this connection.
    public init(from position: FeedPosition?, of head: FeedHead?, isOpen: Bool) {
        guard let head else {
            self = .deleted
            return
        }
        guard let position else {
            self = .start
            return
        }
        if position.epoch != head.epoch {
            // Epoch 0 became another one with the first change by a process of this version.
            self = isOpen && position.epoch != 0 ? .deleted : .reset(.unknown)
        } else if position.revision > head.revision {
            self = .reset(.unknown)
        } else {
            self = position.revision < head.base ? .reset(.replaced) : .events
        }
    }
}
