import ChatterdBasics
import ChatterdHTTP
import ChatterdRelay

/// The lines of an Ollama's `/api/generate` as the events of `/v1/completions`.
struct CompletionLines: PassedAnswerEncoder {
    /// The limit of a line, in bytes.
    static let lineLimit = 1 << 20

    /// The end that the lines so far have, and the events that are written for them.
    private struct Writer {
        /// The beginning of each event: the id, the time and the model.
        let head: [UInt8]
        let includesUsage: Bool
        var isDone = false

        mutating func write(_ line: Span<UInt8>, to output: inout ByteBuffer) throws(PassedAnswerProblem) {
            guard !isDone, !line.isEmpty else { return }
            try PassedAnswerProblem.check(line)
            let text: Range<Int>?
            do throws(JSONError) {
                (text, isDone) = try Self.read(line)
            } catch {
                throw .malformed("a line of it has no text: \(error)")
            }
            if let text { append(line.extracting(text), reason: nil, to: &output) }
            if isDone { try end(DoorMembers(answer: line.array), to: &output) }
        }

        /// The text of a line, as a JSON string, unless it is empty; and whether it is the last line.
        private static func read(_ line: Span<UInt8>) throws(JSONError) -> (text: Range<Int>?, isDone: Bool) {
            var text: Range<Int>?
            var isDone = false
            var reader = JSONReader(line)
            try reader.beginObject()
            while let key = try reader.nextKey() {
                if reader.matches(key, "response") {
                    let range = try reader.string().range
                    text = range.isEmpty ? nil : range.lowerBound - 1..<range.upperBound + 1
                } else if reader.matches(key, "done") {
                    isDone = try reader.boolean()
                } else {
                    try reader.skipValue()
                }
            }
            return (text, isDone)
        }

        private func end(_ members: DoorMembers, to output: inout ByteBuffer) {
            let end = CompletionEnd(members)
            append(Array("\"\"".utf8).span, reason: end.reason, to: &output)
            if includesUsage {
                output.append(head)
                output.append("\"choices\":[],\"usage\":")
                output.appendJSON { json in
                    json.object { OpenAIChat.write(end.promptTokens, end.answerTokens, to: &$0) }
                }
                output.append("}\n\n")
            }
            output.append("data: [DONE]\n\n")
        }

        /// Appends an event with a text, as a JSON string.
        private func append(_ text: Span<UInt8>, reason: String?, to output: inout ByteBuffer) {
            output.append(head)
            output.append("\"choices\":[{\"index\":0,\"text\":")
            output.append(text)
            output.append(",\"logprobs\":null,\"finish_reason\":")
            if let reason {
                output.append(jsonString: reason)
            } else {
                output.append("null")
            }
            output.append("}]}\n\n")
        }
    }

    private var lines = LineSplitter(limit: Self.lineLimit)
    private var writer: Writer

    init(_ context: PassContext, includesUsage: Bool) {
        var head = ByteBuffer()
        head.append("data: {\"id\":")
        head.append(jsonString: "cmpl-\(context.id)")
        head.append(",\"object\":\"text_completion\",\"created\":")
        head.append(decimal: context.seconds)
        head.append(",\"model\":")
        head.append(jsonString: context.model)
        head.append(",")
        writer = Writer(head: head.array, includesUsage: includesUsage)
    }

    var streamType: StreamType? { .events }
    /// The line that has begun.
    var heldSize: Int { lines.carriedCount }

    mutating func append(_ bytes: Span<UInt8>, to output: inout ByteBuffer) throws(PassedAnswerProblem) {
        var writer = writer
        defer { self.writer = writer }
        var index = 0
        let outcome = try lines.feed(bytes, from: &index) { line throws(PassedAnswerProblem) in
            try writer.write(line, to: &output)
            return .more
        }
        if outcome == .tooLong { throw .malformed("a line of it is longer than \(Self.lineLimit) bytes") }
    }

    mutating func end(to output: inout ByteBuffer) throws(PassedAnswerProblem) {
        var writer = writer
        defer { self.writer = writer }
        // The line end behind the last line may be missing.
        try lines.finish { line throws(PassedAnswerProblem) in try writer.write(line, to: &output) }
        guard writer.isDone else { throw .incomplete }
    }

    func fail(_ error: RelayError, to output: inout ByteBuffer) {
        output.append(eventOf: error)
    }
}
