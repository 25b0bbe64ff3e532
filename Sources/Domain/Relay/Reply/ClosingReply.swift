import ChatterdBasics
import ChatterdChat

/// The data with which a reply is closed: its ending, and the content that is not in its journal.
public struct ClosingReply: Sendable {
    /// The id of the reply. The store recognizes a repeated close by it.
    public var id: ReplyID
    /// The start of the rest. All content before it is in the journal.
    public var journalled: ReplyPosition
    /// The rest of the text, byte for byte as it was streamed.
    public var text: [UInt8]
    /// The rest of the thoughts.
    public var thinking: [UInt8]
    /// The rest of the tool calls: JSON objects separated by commas.
    public var toolCalls: [UInt8]
    public var ending: ReplyEnding
    /// The origin of the reply.
    public var provenance: ReplyProvenance
    /// The history of the client with the whole answer, if the client keeps its history.
    public var history: AnsweredHistory?

    public init(
        id: ReplyID, journalled: ReplyPosition, text: [UInt8], thinking: [UInt8], toolCalls: [UInt8],
        ending: ReplyEnding, provenance: ReplyProvenance = ReplyProvenance(), history: AnsweredHistory? = nil
    ) {
        self.id = id
        self.journalled = journalled
        self.text = text
        self.thinking = thinking
        self.toolCalls = toolCalls
        self.ending = ending
        self.provenance = provenance
        self.history = history
    }
}

/// The history of a client with the answer to it.
public struct AnsweredHistory: Sendable {
    /// The history up to the prompt.
    public var history: HistoryDigest
    public var text: [UInt8]
    /// JSON objects separated by commas.
    public var toolCalls: [UInt8]

    /// The size of the answer, in bytes.
    public var size: Int { text.count + toolCalls.count }

    /// The digest of the history with the answer. It takes a time that grows with the size.
    public func digest() -> HistoryDigest {
        let calls = String(decoding: toolCalls, as: UTF8.self)
        return history.followed(
            by: ModelMessage(
                role: "assistant", content: String(decoding: text, as: UTF8.self),
                extras: calls.isEmpty ? nil : "\"tool_calls\":[\(calls)]"))
    }
}
