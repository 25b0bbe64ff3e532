import ChatterdBasics
import ChatterdChat

/// The tool calls of an answer of Llama Stack, collected as the elements of an array in Ollama's form.
struct LlamaStackToolCalls {
    private var elements: [[UInt8]] = []

    /// The size of the calls with the commas between them, in bytes.
    private(set) var size = 0

    /// The array; `nil` without calls.
    var array: [UInt8]? {
        guard !elements.isEmpty else { return nil }
        var buffer = ByteBuffer(capacity: size + 2)
        buffer.appendJSON { writer in
            writer.array { array in
                for element in elements { array.raw(element.span) }
            }
        }
        return buffer.array
    }

    /// Removes the last call.
    mutating func removeLast() {
        guard let last = elements.popLast() else { return }
        size -= last.count + (elements.isEmpty ? 0 : 1)
    }

    /// Appends a call: `{"call_id", "tool_name", "arguments", "arguments_json"}`, of which the arguments are an object or a text.
    ///
    /// - Throws: `wrongType` if the name is missing, or the error of the JSON, `unexpectedEnd` for arguments that break off.
    mutating func append(_ call: Span<UInt8>) throws(JSONError) {
        var id: JSONString?
        var name: JSONString?
        var object: Range<Int>?
        var text: JSONString?
        var reader = JSONReader(call)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if reader.matches(key, "call_id") {
                id = try reader.stringOrSkip()
            } else if reader.matches(key, "tool_name") {
                name = try reader.stringOrSkip()
            } else if reader.matches(key, "arguments"), try reader.kind() == .object {
                object = try reader.skipValue()
            } else if reader.matches(key, "arguments") || reader.matches(key, "arguments_json") {
                text = try reader.stringOrSkip() ?? text
            } else {
                try reader.skipValue()
            }
        }
        guard let name, !name.range.isEmpty else { throw JSONError(.wrongType, at: 0) }
        let arguments =
            if let object { call.array(object) } else { try Self.object(in: call.extracting(text?.range ?? 0..<0)) }
        var element = ByteBuffer()
        element.appendJSON { writer in
            writer.object { object in
                if let id, !id.range.isEmpty { object.member("id", inside: call.extracting(id.range)) }
                object.object("function") { function in
                    function.member("index", elements.count)
                    function.member("name", inside: call.extracting(name.range))
                    function.member("arguments", raw: arguments.span)
                }
            }
        }
        size += element.count + (elements.isEmpty ? 0 : 1)
        elements.append(element.array)
    }

    /// The object that the inside of a JSON string encodes.
    private static func object(in text: Span<UInt8>) throws(JSONError) -> [UInt8] {
        var decoded = ByteBuffer()
        decoded.append(decodingJSON: text)
        guard !ToolArguments.breakOff(decoded.bytes) else { throw JSONError(.unexpectedEnd, at: 0) }
        // Escapes within an escaped text have not been checked before.
        var object = ByteBuffer()
        object.append(repairingJSON: ToolArguments.object(holding: decoded.array).span)
        return object.array
    }
}
