import ChatterdBasics
import ChatterdChat

/// A complete answer for a client that does not stream it.
public struct WholeAnswer {
    /// The text, in UTF-8.
    let text: ByteBuffer
    /// The thoughts, in UTF-8.
    let thinking: ByteBuffer
    /// The calls of tools, as JSON objects with commas between them.
    let toolCalls: ByteBuffer
    /// The last line of the answer, whose text is in `text` already.
    let lastLine: [UInt8]
    /// The calls of tools of the server, if they were asked for.
    let steps: [StepChange]

    public init(
        text: ByteBuffer, thinking: ByteBuffer, toolCalls: ByteBuffer, lastLine: [UInt8], steps: [StepChange] = []
    ) {
        self.steps = steps
        self.text = text
        self.thinking = thinking
        self.toolCalls = toolCalls
        self.lastLine = lastLine
    }

    /// Calls `body` with each call of a tool.
    func forEachCall(_ body: (borrowing AnswerToolCall) -> Void) {
        AnswerToolCall.forEach(of: toolCalls.bytes, body)
    }

    /// The counts of tokens, and whether the limit of the answer was reached.
    var end: (promptTokens: Int, answerTokens: Int, isCut: Bool) {
        guard let parts = AnswerParts(lastLine.span) else { return (0, 0, false) }
        return (parts.promptTokens, parts.answerTokens, parts.isCut)
    }
}
