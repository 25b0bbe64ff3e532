import ChatterdBasics
import ChatterdChat

// The hooks of the operator see an answer before clients do. Until then its lines are held.
extension ReplyGenerator {
    /// Asks the hooks about the complete answer, and appends it, or the text that they give in its place.
    func review() async throws(RelayError) -> GenerationRun.Event {
        guard let held else { return .reviewed }
        let answer = ReviewedAnswer(
            reply: reply.id, conversation: reply.turn.conversation, model: reply.model, text: held.text,
            thinking: held.thinking, toolCalls: held.toolCalls)
        let replacement = try await held.review(as: answer)
        try checkCancellation()
        held.clear()
        if let replacement {
            tools?.forgetCalls()
            run.callsTools = false
            appendAnswer(text: replacement, thinking: [], toolCalls: [])
        } else {
            appendAnswer(text: answer.text, thinking: answer.thinking, toolCalls: answer.toolCalls)
        }
        return .reviewed
    }

    /// Appends an answer to the reply.
    func appendAnswer(text: [UInt8], thinking: [UInt8], toolCalls: [[UInt8]]) {
        let (writer, time) = (AnswerLineWriter(model: reply.model), context.scheduler.timeOfDay())
        if !thinking.isEmpty { appendSeen { writer.append(thinking: thinking.span, at: time, to: &$0) } }
        if !text.isEmpty { appendSeen { writer.append(content: text.span, at: time, to: &$0) } }
        for calls in toolCalls {
            appendSeen { writer.append(toolCalls: calls.span, at: time, to: &$0) }
        }
    }

    /// Appends a line that the hooks have seen.
    private func appendSeen(_ write: (inout ByteBuffer) -> Void) {
        var line = ByteBuffer()
        write(&line)
        guard let fields = try? AnswerLine(line.bytes) else { return }
        appendToReply(LineRun(line: line.bytes, fields: fields))
    }
}
