import ChatterdBasics
import ChatterdLanguageModels

/// The end of a reply as it is stored, behind what is in its journal.
public struct ClosingReply: Sendable {
    /// Its name: by it the store knows the same reply again.
    public var id: ReplyID
    /// Where the rest begins; everything before is in the journal.
    public var journalled: ReplyPosition
    /// The rest of the text, byte for byte as it was streamed.
    public var text: [UInt8]
    /// The rest of what the model thought aloud.
    public var thinking: [UInt8]
    /// The rest of the tool calls: JSON objects with commas between them.
    public var toolCalls: [UInt8]
    /// How it ended.
    public var ending: ReplyEnding
    /// How it came about.
    public var account: ReplyAccount

    /// Makes a reply.
    public init(
        id: ReplyID, journalled: ReplyPosition, text: [UInt8], thinking: [UInt8], toolCalls: [UInt8],
        ending: ReplyEnding, account: ReplyAccount = ReplyAccount()
    ) {
        self.id = id
        self.journalled = journalled
        self.text = text
        self.thinking = thinking
        self.toolCalls = toolCalls
        self.ending = ending
        self.account = account
    }
}
