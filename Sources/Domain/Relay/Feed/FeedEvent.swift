import ChatterdBasics

/// An event of the feed of a conversation.
public struct FeedEvent: Sendable {
    /// The largest text of a prompt in an event, with its further members, in bytes. A client reads a longer one as a message of the
    /// conversation.
    public static let textLimit = 16_384

    /// The message of a prompt.
    public struct Prompt: Sendable {
        public var role: String
        /// The text; `nil` if it is longer than `textLimit`.
        public var content: [UInt8]?
        /// Further members as JSON text without braces.
        public var extras: [UInt8]
        /// The number of the reply that answers it.
        public var turn: Int64
        public var time: Int64

        public init(role: String, content: [UInt8]?, extras: [UInt8], turn: Int64, time: Int64) {
            self.role = role
            self.content = content
            self.extras = extras
            self.turn = turn
            self.time = time
        }
    }

    /// The change.
    public enum Change: Sendable {
        /// A message was added that waits for an answer.
        case prompt(Prompt)
        /// A reply was started.
        case reply(ReplyID, model: String, time: Int64)
        /// A reply has ended; the last event is empty if it is too long.
        case end(ReplyID, seq: Int64, state: String, lastEvent: [UInt8], time: Int64)
        /// The next prompt follows another reply; `nil` if that is gone.
        case choice(ReplyID?)
        /// The conversation was renamed, archived or brought back. A `nil` title is none.
        case settings(title: String?, isArchived: Bool)
    }

    /// The position of the feed behind the event.
    public var position: FeedPosition
    public var change: Change

    public init(position: FeedPosition, change: Change) {
        self.position = position
        self.change = change
    }

    /// The data of the event: one line of JSON.
    public var data: ByteBuffer {
        var buffer = ByteBuffer()
        buffer.appendJSON { json in
            json.object { json in
                switch change {
                case .prompt(let prompt): write(prompt, to: &json)
                case .reply(let id, let model, let time):
                    json.member("seq", Int(position.number))
                    Self.write(id, to: &json)
                    json.member("model", model)
                    json.member("state", "streaming")
                    json.member("time", time: time)
                case .end(let id, let seq, let state, let lastEvent, let time):
                    json.member("seq", Int(seq))
                    Self.write(id, to: &json)
                    json.member("state", state)
                    json.member("finished_at", time: time)
                    json.members(["done_reason", "error", "code", "retryable"], of: lastEvent.span)
                case .choice(let id):
                    if let id { Self.write(id, to: &json) }
                case .settings(let title, let isArchived):
                    Self.write(title: title, to: &json)
                    json.member("archived", isArchived)
                }
            }
        }
        return buffer
    }

    private func write(_ prompt: Prompt, to json: inout JSONWriter) {
        json.member("seq", Int(position.number))
        json.member("turn", Int(prompt.turn))
        json.member("role", prompt.role)
        if let content = prompt.content {
            json.name("content")
            json.string(content.span)
            if !prompt.extras.isEmpty {
                json.raw { $0.append(prompt.extras) }
            }
        } else {
            json.member("omitted", true)
        }
        json.member("time", time: prompt.time)
    }

    /// Writes a title; null for none.
    static func write(title: String?, to json: inout JSONWriter) {
        json.name("title")
        if let title {
            json.string(title)
        } else {
            json.null()
        }
    }

    /// Writes the id and the location of a reply.
    static func write(_ id: ReplyID, to json: inout JSONWriter) {
        json.member("id", id.description)
        json.member("location", "/replies/\(id)")
    }
}
