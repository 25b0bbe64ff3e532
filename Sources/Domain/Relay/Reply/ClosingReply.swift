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

    public init(
        id: ReplyID, journalled: ReplyPosition, text: [UInt8], thinking: [UInt8], toolCalls: [UInt8],
        ending: ReplyEnding, provenance: ReplyProvenance = ReplyProvenance()
    ) {
        self.id = id
        self.journalled = journalled
        self.text = text
        self.thinking = thinking
        self.toolCalls = toolCalls
        self.ending = ending
        self.provenance = provenance
    }
}
