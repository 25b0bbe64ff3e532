import ChatterdChat
import ChatterdRelay

/// A message of the history of a conversation, for the comparison with the history that a client sends.
public struct StoredMessage: Sendable {
    /// What the message is in its conversation.
    public enum Place: Sendable, Equatable {
        /// It is outside of turns, and usually precedes them all.
        case seeded
        /// It is a prompt of a turn.
        case prompt
        /// It is the reply that closes a turn.
        case reply(ReplyID)
    }

    public let message: ModelMessage
    public let place: Place

    public init(_ message: ModelMessage, _ place: Place) {
        self.message = message
        self.place = place
    }
}
