import ChatterdBasics
import ChatterdLanguageModels

/// The tool calls of an answer of Llama Stack, collected as the elements of an array in Ollama's form.
struct LlamaStackToolCalls {
    private var elements = ByteBuffer()
    private var count = 0
    /// The start of the last call, with the comma before it.
    private var last = ByteBuffer().endMark

    /// The array; `nil` without calls.
    var array: [UInt8]? {
        guard count > 0 else { return nil }
        var buffer = ByteBuffer(capacity: elements.count + 2)
        buffer.append(UInt8(ascii: "["))
        buffer.append(elements)
        buffer.append(UInt8(ascii: "]"))
        return buffer.array
    }

    /// Removes the last call; once for each that is appended.
    mutating func removeLast() {
        guard count > 0 else { return }
        elements.truncate(to: last)
        count -= 1
    }

    /// The size so far, in bytes.
    var size: Int { elements.count }

    /// Appends a call: `{"call_id", "tool_name", "arguments", "arguments_json"}`, of which the arguments are an object, or a
    /// text that is one.
    ///
    /// - Throws: `wrongType` if the name is missing or the arguments are no object, or the error of the JSON.
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
        let start = elements.endMark
        if count > 0 { elements.append(UInt8(ascii: ",")) }
        elements.append(UInt8(ascii: "{"))
        if let id, !id.range.isEmpty {
            elements.append("\"id\":\"")
            elements.append(call.extracting(id.range))
            elements.append("\",")
        }
        elements.append("\"function\":{\"index\":")
        elements.append(decimal: count)
        elements.append(",\"name\":\"")
        elements.append(call.extracting(name.range))
        elements.append("\",\"arguments\":")
        if let object {
            elements.append(call.extracting(object))
        } else {
            do throws(JSONError) {
                try append(argumentsIn: call.extracting(text?.range ?? 0..<0))
            } catch {
                elements.truncate(to: start)
                throw error
            }
        }
        elements.append("}}")
        count += 1
        last = start
    }

    /// Appends the object that the inside of a JSON string encodes; an empty string stands for an object without members.
    private mutating func append(argumentsIn text: Span<UInt8>) throws(JSONError) {
        var object = ByteBuffer()
        object.append(decodingJSON: text)
        if object.isEmpty { object.append("{}") }
        let bytes = object.bytes
        try JSONReader.validate(bytes)
        var reader = JSONReader(bytes)
        guard try reader.kind() == .object else { throw JSONError(.wrongType, at: 0) }
        // Escapes within an escaped text have not been checked before.
        elements.append(repairingJSON: bytes)
    }
}
