import ChatterdBasics

/// The members of a call of a tool, in the form of Ollama or OpenAI, as ranges of the text that has it.
public struct ToolCallRanges {
    /// The inside of `id`; empty if the call has none.
    private(set) var id = 0..<0
    /// The inside of `function.name`; empty if the call has none.
    public private(set) var name = 0..<0
    /// The value of `function.arguments`, an object or a text; `nil` if the call has none.
    private(set) var arguments: Range<Int>?

    /// Reads a call.
    ///
    /// - Throws: `wrongType` if the call is not an object.
    public init(from reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if reader.matches(key, "id") {
                id = try reader.stringOrSkip()?.range ?? 0..<0
            } else if reader.matches(key, "function"), try reader.kind() == .object {
                try readFunction(from: &reader)
            } else {
                try reader.skipValue()
            }
        }
    }

    private mutating func readFunction(from reader: inout JSONReader) throws(JSONError) {
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
    }
}
