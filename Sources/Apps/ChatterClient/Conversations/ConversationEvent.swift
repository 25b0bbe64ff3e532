/// A change of a conversation. docs/api.md, `GET /conversations/:c/events`, says how a second screen uses them.
#if hasAttribute(nonexhaustive)
    @nonexhaustive(warn)
#endif
public enum ConversationEvent: Sendable, Hashable {
    /// The state of the conversation, and where the feed continues.
    public struct State: Sendable, Hashable, Decodable {
        /// A reply that is being generated.
        public struct Running: Sendable, Hashable, Decodable {
            public let id: ReplyID
        }

        public let conversation: String
        public let title: String?
        public let archived: Bool
        /// The number of the last message; `nil` if there is none.
        public let last: Int?
        public let running: [Running]
        /// Of a reset: `replaced` or `unknown`.
        public let reason: String?
    }

    /// A message that waits for an answer.
    public struct Prompt: Sendable, Hashable, Decodable {
        public let seq: Int
        public let role: String
        /// `nil` for a long message, which is read with `messages(of:after:)`.
        public let content: String?
    }

    /// A reply that was started or has ended.
    public struct Reply: Sendable, Hashable, Decodable {
        public let seq: Int
        public let id: ReplyID
        public let model: String?
        public let state: ReplyState
        public let error: String?
        public let code: String?
    }

    /// The title or the archiving has changed.
    public struct Settings: Sendable, Hashable, Decodable {
        public let title: String?
        public let archived: Bool
    }

    /// The first event of a feed without a position.
    case state(State)
    case prompt(Prompt)
    /// A reply was started: its text comes from `events(of:)`.
    case replyStarted(Reply)
    case replyEnded(Reply)
    /// The next prompt follows this reply.
    case choice(ReplyID)
    case settings(Settings)
    /// Read the conversation again; the feed continues from here.
    case reset(State)
    /// The conversation was deleted. The last event.
    case deleted
    /// The connection is lost. The client tries again after the delay.
    case connectionLost(ChatterError, retryAfter: Duration)
    /// The feed continues where it was.
    case resumed
}
