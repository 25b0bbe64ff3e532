import ChatterdBasics

/// A call of a tool in an answer, in Ollama's form. Borrowed for a call.
struct AnswerToolCall: ~Escapable {
    private let text: Span<UInt8>
    private let idRange: Range<Int>
    private let nameRange: Range<Int>
    private let argumentRange: Range<Int>

    /// The inside of the JSON string of its id; empty without one.
    var id: Span<UInt8> {
        @_lifetime(copy self) get { text.extracting(idRange) }
    }

    /// The inside of the JSON string of the name of the tool.
    var name: Span<UInt8> {
        @_lifetime(copy self) get { text.extracting(nameRange) }
    }

    /// The arguments as JSON, an object as a rule; empty without any.
    var arguments: Span<UInt8> {
        @_lifetime(copy self) get { text.extracting(argumentRange) }
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
        var (id, name, arguments) = (0..<0, 0..<0, 0..<0)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if reader.matches(key, "id") {
                id = try reader.stringOrSkip()?.range ?? 0..<0
            } else if reader.matches(key, "function"), try reader.kind() == .object {
                try reader.beginObject()
                while let key = try reader.nextKey() {
                    if reader.matches(key, "name") {
                        name = try reader.stringOrSkip()?.range ?? 0..<0
                    } else if reader.matches(key, "arguments") {
                        arguments = try reader.skipValue()
                    } else {
                        try reader.skipValue()
                    }
                }
            } else {
                try reader.skipValue()
            }
        }
        (idRange, nameRange, argumentRange) = (id, name, arguments)
        text = reader.bytes
    }
}
