import ChatterdBasics
import ChatterdChat

/// The members of a message for Llama Stack; ranges are the insides of strings.
struct LlamaStackMessage {
    private(set) var role = ""
    private(set) var content = 0..<0
    private(set) var images: [Range<Int>] = []
    private(set) var calls: [LlamaStackCall] = []
    private(set) var callID = ""
    private(set) var toolName = ""

    /// Reads the message at `start`, and moves `start` past the comma that follows it.
    init(in text: Span<UInt8>, from start: inout Int) throws(JSONError) {
        var reader = JSONReader(text, at: start)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if reader.matches(key, "role") {
                role = try reader.decodedText()
            } else if reader.matches(key, "content") {
                content = try reader.stringOrSkip()?.range ?? 0..<0
            } else if reader.matches(key, "tool_call_id") {
                callID = try reader.decodedText()
            } else if reader.matches(key, "tool_name") {
                toolName = try reader.decodedText()
            } else if reader.matches(key, "images") {
                try reader.beginArray()
                while try reader.nextElement() {
                    images.append(try reader.string().range)
                }
            } else if reader.matches(key, "tool_calls") {
                try reader.beginArray()
                while try reader.nextElement() {
                    calls.append(try LlamaStackCall(from: &reader))
                }
            } else {
                try reader.skipValue()
            }
        }
        start = reader.position + 1
    }
}

extension JSONReader {
    /// Skips a value of any type. Returns its text if it is a string, else an empty one.
    fileprivate mutating func decodedText() throws(JSONError) -> String {
        guard let string = try stringOrSkip() else { return "" }
        return String(decodingJSON: bytes.extracting(string.range))
    }
}
