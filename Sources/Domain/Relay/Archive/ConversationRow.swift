/// A row of a conversation, as it is stored.
public struct ConversationRow: Sendable, Equatable {
    /// The meaning of a row.
    public enum Kind: Sendable, Equatable {
        /// A message outside of turns.
        case message
        /// A prompt; `turn` is the number of its reply.
        case prompt(turn: Int64)
        /// A reply.
        case reply(Reply)
        /// The choice of the reply that the next turn follows. It has no message.
        case choice
    }

    /// The data that only replies have.
    public struct Reply: Sendable, Equatable {
        public var id: ReplyID
        /// The requested model; empty if unknown.
        public var model: String
        /// The final state; `nil` while the reply is running.
        public var state: ReplyState?
        /// The number of the attempt, from 1.
        public var attempt: Int64
        /// Further members of the request, as JSON text without braces; empty if there are none.
        public var options: [UInt8]
        /// The data of the last event of its stream; empty if there is none.
        public var lastEvent: [UInt8]
        /// The provenance, as JSON text without braces; empty if unknown.
        public var provenance: [UInt8]
        /// The time of its end, in microseconds since 1970; `nil` if unknown.
        public var finishedAt: Int64?

        public init(
            id: ReplyID, model: String, state: ReplyState?, attempt: Int64 = 1, options: [UInt8] = [],
            lastEvent: [UInt8] = [], provenance: [UInt8] = [], finishedAt: Int64? = nil
        ) {
            self.id = id
            self.model = model
            self.state = state
            self.attempt = attempt
            self.options = options
            self.lastEvent = lastEvent
            self.provenance = provenance
            self.finishedAt = finishedAt
        }
    }

    /// The number of the row in its conversation.
    public var seq: Int64
    public var kind: Kind
    /// The number of the row that it follows, 0 for none; `nil` for the row above.
    public var after: Int64?
    /// The time of its commit, in microseconds since 1970.
    public var time: Int64
    /// The role of the message, in UTF-8.
    public var role: [UInt8]
    /// The text, in UTF-8.
    public var content: [UInt8]
    /// The thinking of the model, in UTF-8; empty if there is none.
    public var thinking: [UInt8]
    /// Further members of the message, as JSON text without braces; empty if there are none.
    public var extras: [UInt8]
    /// The random id that the database has for the row; `nil` for a row that is not stored.
    public var id: ReplyID?

    public init(
        seq: Int64, kind: Kind, after: Int64? = nil, time: Int64, role: [UInt8] = [], content: [UInt8] = [],
        thinking: [UInt8] = [], extras: [UInt8] = [], id: ReplyID? = nil
    ) {
        self.seq = seq
        self.kind = kind
        self.after = after
        self.time = time
        self.role = role
        self.content = content
        self.thinking = thinking
        self.extras = extras
        self.id = id
    }

    /// The size of the texts of its message, in bytes.
    public var size: Int { content.count + thinking.count + extras.count }

    /// The row as an export has it: a reply that was running is interrupted and has no text.
    public var closed: ConversationRow {
        guard case .reply(var reply) = kind else { return self }
        reply.state = .interrupted
        (reply.lastEvent, reply.provenance, reply.finishedAt) = ([], [], nil)
        return ConversationRow(seq: seq, kind: .reply(reply), after: after, time: time, role: role)
    }
}
