import ChatterdBasics
import ChatterdChat

/// A page of a conversation for clients.
public enum ConversationPage {
    /// The messages of a page that its client may ask for.
    public struct Window: Sendable, Equatable {
        /// The greatest number of messages.
        public static let largestLimit = 200
        /// The number of messages if the client names none.
        public static let usualLimit = 50

        /// The end of the page that the client names.
        public enum Edge: Sendable, Equatable {
            /// The last messages.
            case end
            /// The messages before this row.
            case before(Int64)
            /// The messages after this row.
            case after(Int64)
        }

        public var limit: Int
        public var edge: Edge

        public init(limit: Int = usualLimit, edge: Edge = .end) {
            self.limit = limit
            self.edge = edge
        }
    }

    /// A message with its place among the branches.
    public struct Message: Sendable {
        public let row: ConversationRow
        /// The number of the message that it follows, 0 for none; `nil` if that is the message above.
        public let follows: Int64?
        /// The id of the reply that it follows then; `nil` if that is no reply.
        public let parent: ReplyID?
        /// Whether the next prompt follows the message, directly or over others.
        public let isActive: Bool

        public init(row: ConversationRow, follows: Int64?, parent: ReplyID?, isActive: Bool) {
            self.row = row
            self.follows = follows
            self.parent = parent
            self.isActive = isActive
        }
    }

    /// Encodes a page as one JSON object.
    ///
    /// - Parameters:
    ///   - messages: decoded one by one, so that only the object has all texts.
    ///   - range: the numbers of the first and the last message; `nil` without messages.
    public static func encode(
        _ header: ConversationHeader, _ messages: some Sequence<Message>, range: ClosedRange<Int64>? = nil,
        moreBefore: Bool,
        moreAfter: Bool
    ) -> ByteBuffer {
        var buffer = ByteBuffer()
        buffer.appendJSON { json in
            json.object { json in
                json.member("conversation", header.name)
                json.member("title", header.title)
                json.member("created_at", time: header.createdAt)
                json.member("updated_at", time: header.updatedAt)
                json.member("archived_at", time: header.archivedAt)
                json.array("messages") { json in
                    for message in messages {
                        json.object { write(message, to: &$0) }
                    }
                }
                json.member("first", range.map { Int($0.lowerBound) })
                json.member("last", range.map { Int($0.upperBound) })
                json.member("more_before", moreBefore)
                json.member("more_after", moreAfter)
            }
        }
        return buffer
    }

    private static func write(_ message: Message, to json: inout JSONWriter) {
        let row = message.row
        json.member("seq", Int(row.seq))
        if case .reply(let reply) = row.kind {
            json.member("id", reply.id.description)
            if !reply.model.isEmpty {
                json.member("model", reply.model)
            }
            json.member("state", reply.state?.rawValue ?? "streaming")
        }
        json.name("role")
        json.string(row.role.span)
        json.name("content")
        json.string(row.content.span)
        json.member("thinking", nonempty: row.thinking)
        if !row.extras.isEmpty {
            // The extras are a list of members already.
            json.raw { $0.append(row.extras) }
        }
        json.member("time", time: row.time)
        if case .reply(let reply) = row.kind {
            json.member("finished_at", time: reply.finishedAt)
            if let state = reply.state {
                // The reason of the end and the counts, or the error.
                let ending = ReplyEnding(state: state, lastEvent: reply.lastEvent).described
                json.members(
                    ["done_reason", "error", "code", "retryable"], counts: ["prompt_eval_count", "eval_count"],
                    of: ending.lastEvent.span)
            }
        }
        if let follows = message.follows {
            json.member("after", Int(follows))
            if case .prompt = row.kind {
                json.name("parent")
                if let parent = message.parent {
                    json.string(parent.description)
                } else {
                    json.null()
                }
            }
        }
        json.member("active", message.isActive)
    }
}
