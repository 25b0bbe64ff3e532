import ChatterdBasics
import ChatterdChat

// The hooks of the operator see an answer before clients do. Until then its lines are held.
extension ReplyGenerator {
    /// The size of a piece in which an answer goes to its readers, in bytes.
    private static let pieceSize = 64 << 10

    /// Keeps lines for the review. A reply for which there is no memory ends.
    func hold(_ lines: LineRun, in held: HeldAnswer) {
        if let error = held.take(lines) { cancel(error) }
    }

    /// Asks the hooks about the complete answer, and appends it, or the text that they give in its place.
    func review() async throws(RelayError) -> GenerationRun.Event {
        guard let held else { return .reviewed }
        let answer = ReviewedAnswer(
            reply: reply.id, conversation: reply.turn.conversation, model: reply.model, text: held.text,
            thinking: held.thinking, toolCalls: held.toolCalls)
        let replacement = try await held.review(as: answer)
        try checkCancellation()
        if let replacement {
            tools?.forgetCalls()
            run.callsTools = false
            try await release(text: replacement, thinking: [])
        } else {
            try await release(text: answer.text, thinking: answer.thinking)
            if let target { noteParts(of: target) }
            if let tools {
                if !tools.hasCalls { appendCallsOfClient(tools) }
            } else {
                answer.toolCalls.forEach { appendCalls($0) }
            }
        }
        held.clear()
        return .reviewed
    }

    /// Appends an answer that the hooks have seen. Other work of the shard runs between its pieces.
    private func release(text: [UInt8], thinking: [UInt8]) async throws(RelayError) {
        for piece in Self.pieces(of: thinking) {
            appendThinking(piece)
            await Task.yield()
            try checkCancellation()
        }
        for piece in Self.pieces(of: text) {
            appendText(piece)
            await Task.yield()
            try checkCancellation()
        }
    }

    /// Appends what the model said in an earlier round.
    func appendRound(text: [UInt8], thinking: [UInt8]) {
        Self.pieces(of: thinking).forEach { appendThinking($0) }
        Self.pieces(of: text).forEach { appendText($0) }
    }

    private func appendThinking(_ text: ArraySlice<UInt8>) {
        appendSeen { $0.append(thinking: text.span, at: $1, to: &$2) }
    }

    private func appendText(_ text: ArraySlice<UInt8>) {
        appendSeen { $0.append(content: text.span, at: $1, to: &$2) }
    }

    private func appendCalls(_ calls: [UInt8]) {
        appendSeen { $0.append(toolCalls: calls.span, at: $1, to: &$2) }
    }

    /// Appends a line without asking the hooks.
    private func appendSeen(_ write: (AnswerLineWriter, Int64, inout ByteBuffer) -> Void) {
        var line = ByteBuffer()
        write(AnswerLineWriter(model: reply.model), context.scheduler.timeOfDay(), &line)
        guard let fields = try? AnswerLine(line.bytes) else { return }
        appendToReply(LineRun(line: line.bytes, fields: fields))
    }

    /// The pieces of a text in UTF-8, cut between characters.
    private static func pieces(of text: [UInt8]) -> [ArraySlice<UInt8>] {
        var pieces: [ArraySlice<UInt8>] = []
        var rest = text[...]
        while !rest.isEmpty {
            var end = min(rest.endIndex, rest.startIndex + pieceSize)
            // A byte 10xxxxxx continues a character, of which there are three at most.
            while end < rest.endIndex, rest[end] & 0xC0 == 0x80, end > rest.startIndex + pieceSize - 3 { end -= 1 }
            pieces.append(rest[..<end])
            rest = rest[end...]
        }
        return pieces
    }
}
