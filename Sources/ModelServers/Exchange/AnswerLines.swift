import ChatterdBasics
import ChatterdLanguageModels

/// Writes the lines of an answer that was said in another shape than Ollama's, and hands them on. Confined to its shard.
///
/// What is copied into a line is the inside of JSON strings, or JSON, as it came: checked, and free of what cannot be stored.
final class AnswerLines {
    private let answer: AnswerLineWriter
    private let now: @Sendable () -> Int64
    private let began: Int64
    /// The time of the lines of this read; nothing until one is written.
    private var time: Int64?

    /// The line for text alone: of this read, once there was one, and its storage between reads.
    private var textLine: AnswerTextLine?
    private var storage = ByteBuffer()
    /// What the first line of text said; the others differ from it in time and text.
    private var example: AnswerLine?
    /// All other lines, one at a time.
    private var line = ByteBuffer()

    init(model: String, now: @escaping @Sendable () -> Int64) {
        answer = AnswerLineWriter(model: model)
        self.now = now
        began = now()
    }

    /// Makes the next line look at the clock: one time serves all lines of a read.
    func beginRead() {
        time = nil
        if let line = textLine.take() { storage = line.close() }
    }

    /// The line for text alone, for a while in which nobody else writes one: to be given back; nothing before the first text.
    func openTextLine() -> AnswerTextLine? {
        if let line = textLine.take() { return line }
        guard let example else { return nil }
        var buffer = ByteBuffer()
        swap(&buffer, &storage)
        return AnswerTextLine(answer, at: currentTime(), like: example, in: buffer)
    }

    /// Takes the line for text back.
    func giveBack(_ line: consuming AnswerTextLine) {
        textLine = line
    }

    /// A line with text.
    func take(text: Span<UInt8>, hasEscapes: Bool, _ take: (Span<UInt8>, AnswerLine) -> Bool) -> Bool {
        guard var line = openTextLine() else { return takeFirst(text: text, take) }
        let fields = line.set(text, hasEscapes: hasEscapes)
        let goesOn = take(line.bytes, fields)
        giveBack(line)
        return goesOn
    }

    /// A line with text, reasoning, tool calls (an array) and the probabilities of its tokens, or some of these.
    func take(
        text: Span<UInt8>, thinking: Span<UInt8>, toolCalls: Span<UInt8>, logprobs: Span<UInt8>,
        _ take: (Span<UInt8>, AnswerLine) -> Bool
    ) -> Bool {
        line.removeAll()
        answer.appendOpening(at: currentTime(), to: &line)
        line.append("\"content\":\"")
        line.append(text)
        line.append(UInt8(ascii: "\""))
        if !thinking.isEmpty {
            line.append(",\"thinking\":\"")
            line.append(thinking)
            line.append(UInt8(ascii: "\""))
        }
        if !toolCalls.isEmpty {
            line.append(",\"tool_calls\":")
            line.append(toolCalls)
        }
        line.append("},\"done\":false")
        if !logprobs.isEmpty {
            line.append(",\"logprobs\":")
            line.append(logprobs)
        }
        line.append(UInt8(ascii: "}"))
        return takeLine(take)
    }

    /// The last line.
    func take(_ end: AnswerEnd, _ take: (Span<UInt8>, AnswerLine) -> Bool) -> Bool {
        line.removeAll()
        let time = currentTime()
        answer.append(end, total: Int(max(0, time - began)), at: time, to: &line)
        return takeLine(take)
    }

    private func currentTime() -> Int64 {
        if let time { return time }
        let time = now()
        self.time = time
        return time
    }

    private func takeFirst(text: Span<UInt8>, _ take: (Span<UInt8>, AnswerLine) -> Bool) -> Bool {
        self.take(text: text, thinking: Span(), toolCalls: Span(), logprobs: Span()) { line, fields in
            if fields.isPlainToken {
                example = fields
            }
            return take(line, fields)
        }
    }

    private func takeLine(_ take: (Span<UInt8>, AnswerLine) -> Bool) -> Bool {
        // Made of checked parts: it reads.
        let line = line
        guard let fields = try? AnswerLine(line.bytes) else { return true }
        return take(line.bytes, fields)
    }
}
