import ChatterdBasics

/// A call of a tool in an answer, in Ollama's form. Borrowed for a call.
struct AnswerToolCall: ~Escapable {
    private let text: Span<UInt8>
    private let ranges: ToolCallRanges

    /// The inside of the JSON string of its id; empty without one.
    var id: Span<UInt8> {
        @_lifetime(copy self) get { text.extracting(ranges.id) }
    }

    /// The inside of the JSON string of the name of the tool.
    var name: Span<UInt8> {
        @_lifetime(copy self) get { text.extracting(ranges.name) }
    }

    /// The arguments as JSON, an object as a rule; empty without any.
    var arguments: Span<UInt8> {
        @_lifetime(copy self) get { text.extracting(ranges.arguments ?? 0..<0) }
    }

    /// Calls `body` with each of some JSON objects with commas between them.
    static func forEach(of calls: Span<UInt8>, _ body: (borrowing AnswerToolCall) -> Void) {
        guard !calls.isEmpty else { return }
        var array = ByteBuffer(capacity: calls.count + 2)
        array.append("[")
        array.append(calls)
        array.append("]")
        forEach(in: array.bytes, body)
    }

    /// Calls `body` with each call of a JSON array.
    static func forEach(in array: Span<UInt8>, _ body: (borrowing AnswerToolCall) -> Void) {
        var reader = JSONReader(array)
        // A reply passes only lines that it has read before, so the text is JSON.
        guard (try? reader.beginArray()) != nil else { return }
        while (try? reader.nextElement()) == true {
            guard let call = try? AnswerToolCall(from: &reader) else { return }
            body(call)
        }
    }

    @_lifetime(copy reader)
    private init(from reader: inout JSONReader) throws(JSONError) {
        ranges = try ToolCallRanges(from: &reader)
        text = reader.bytes
    }
}
