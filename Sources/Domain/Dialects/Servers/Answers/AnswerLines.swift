import ChatterdBasics
import ChatterdChat

/// Writes the lines of an answer that came in another shape than Ollama's, and delivers them. Confined to its shard.
///
/// Texts are the insides of JSON strings, and lists are JSON. Both are unchanged: checked, and free of characters that cannot be stored.
final class AnswerLines {
    private let writer: AnswerLineWriter
    private let now: @Sendable () -> Int64
    private let began: Int64
    /// The time of the lines of this read; `nil` until one is written.
    private var time: Int64?

    /// The line for text alone: of this read once there was one, with its storage between reads.
    private var textLine: AnswerTextLine?
    private var storage = ByteBuffer()
    /// The fields of the first line of text; the others differ from it in time and text.
    private var example: AnswerLine?
    /// All other lines, one at a time.
    private var line = ByteBuffer()

    init(model: String, now: @escaping @Sendable () -> Int64) {
        writer = AnswerLineWriter(model: model)
        self.now = now
        began = now()
    }

    /// Begins a read: its first line reads the clock, and all its lines have that time.
    func beginRead() {
        time = nil
        if let line = textLine.take() { storage = line.close() }
    }

    /// Lends the line for text alone, until `releaseTextLine`. No other text may be written meanwhile. `nil` before the first text.
    func acquireTextLine() -> AnswerTextLine? {
        if let line = textLine.take() { return line }
        guard let example else { return nil }
        var buffer = ByteBuffer()
        swap(&buffer, &storage)
        return AnswerTextLine(writer, at: currentTime(), like: example, in: buffer)
    }

    /// Ends the loan of `acquireTextLine`.
    func releaseTextLine(_ line: consuming AnswerTextLine) {
        textLine = line
    }

    /// Delivers a line with text alone. Returns whether the handler continues.
    func write(text: Span<UInt8>, hasEscapes: Bool, to deliver: AnswerLineHandler) -> Bool {
        guard var line = acquireTextLine() else { return writeFirst(text: text, to: deliver) }
        let fields = line.set(text, hasEscapes: hasEscapes)
        let continues = deliver(LineRun(line: line.bytes, fields: fields))
        releaseTextLine(line)
        return continues
    }

    /// Delivers a line with text, reasoning, tool calls (an array) and the probabilities of its tokens, or some of these. Returns
    /// whether the handler continues.
    func write(
        text: Span<UInt8>, thinking: Span<UInt8>, toolCalls: Span<UInt8>, logprobs: Span<UInt8>,
        to deliver: AnswerLineHandler
    ) -> Bool {
        line.removeAll()
        writer.appendOpening(at: currentTime(), to: &line)
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
        return deliverLine(to: deliver)
    }

    /// Delivers the last line. Returns whether the handler continues.
    func write(_ end: AnswerEnd, to deliver: AnswerLineHandler) -> Bool {
        line.removeAll()
        let time = currentTime()
        writer.append(end, total: Int(max(0, time - began)), at: time, to: &line)
        return deliverLine(to: deliver)
    }

    private func currentTime() -> Int64 {
        if let time { return time }
        let time = now()
        self.time = time
        return time
    }

    private func writeFirst(text: Span<UInt8>, to deliver: AnswerLineHandler) -> Bool {
        write(text: text, thinking: Span(), toolCalls: Span(), logprobs: Span()) { lines in
            if let fields = lines.single, fields.isPlainToken {
                example = fields
            }
            return deliver(lines)
        }
    }

    private func deliverLine(to deliver: AnswerLineHandler) -> Bool {
        let line = line
        // The line consists of checked parts and always parses.
        guard let fields = try? AnswerLine(line.bytes) else { return true }
        return deliver(LineRun(line: line.bytes, fields: fields))
    }
}
