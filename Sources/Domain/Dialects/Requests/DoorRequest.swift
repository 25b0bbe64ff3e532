import ChatterdBasics
import ChatterdChat
import ChatterdRelay

/// A request of a door to a model.
public struct DoorRequest: Sendable {
    /// What a request continues by its own words. Otherwise its identity decides.
    public enum Continuation: Sendable, Equatable {
        /// The turn of a reply.
        case reply(ReplyID)
        /// The last turn of the conversation with this name.
        case conversation(String)
    }

    /// The request in chatterd's own form. It names no app.
    public var chat: ChatRequest
    /// Whether a stream ends with the counts of tokens, if the door lets the client choose.
    public var includesUsage = false
    /// The estimated tokens of the messages and tools, for a door that shows them before a model has counted them; 0 for the others. It is
    /// that of the whole request, also after messages that are stored already have left `chat`.
    public var estimatedTokens = 0
    /// Whether the request belongs to the conversation of its identity. Otherwise it is stateless.
    public var isRemembered = true
    /// Whether the request goes to the server of the model as it is, because it asks no model, or has members that only that
    /// server understands.
    public var isPassed = false
    /// What the request continues; `nil` if it does not say.
    public var continuation: Continuation?
    /// Whether the reply continues without its client, which gets an answer at once.
    public var isBackground = false

    /// The servers of tools whose tools the model gets.
    public var toolServers: [RequestedToolServer] = []

    /// The calls of tools of servers that the request approves.
    var approved: [ApprovedCall] = []

    /// The answer of a request that only loads a model, as a member of JSON, for a model without an Ollama; `nil` for other requests.
    public var loadAnswer: String?

    /// What answers repeat of the request, as members of JSON; `nil` if the API repeats nothing.
    var repeated: [UInt8]?

    /// What has no effect of the request.
    public let ignored: IgnoredMembers
    /// The path in which the client asks for thoughts that its answer may lack; `nil` for none.
    private let thinking: String?

    /// - Throws: `invalidRequest` for a name that a model server could confuse with another one.
    init(_ draft: consuming RequestDraft) throws(RelayError) {
        (ignored, thinking) = (draft.ignored, draft.thinking)
        chat = try draft.finish()
    }

    /// Stores with the request what its answers repeat, and what its model gets besides its messages, so that any process can answer.
    ///
    /// - Parameter seconds: the time of the request, in seconds since 1970.
    /// - Returns: the kept object as JSON; `nil` if the API repeats nothing.
    public mutating func keep(createdAt seconds: Int) -> [UInt8]? {
        if !ignored.paths.isEmpty { chat.passThrough.append(RawMember(ignored: ignored.paths)) }
        if let thinking { chat.passThrough.append(RawMember(optionalThinking: thinking)) }
        guard let repeated else { return nil }
        var object = ByteBuffer()
        object.append("{\"created_at\":")
        object.append(decimal: seconds)
        object.append(",")
        object.append(repeated)
        object.append("}")
        chat.passThrough.append(RawMember(kept: object.array))
        return object.array
    }
}
