import ChatterdBasics
import ChatterdChat

/// A tool call of a message, decoded for Llama Stack.
struct LlamaStackCall {
    let id: String
    let name: String
    /// A JSON object.
    let arguments: [UInt8]

    init(from reader: inout JSONReader) throws(JSONError) {
        let call = try ToolCallRanges(from: &reader)
        id = String(decodingJSON: reader.bytes.extracting(call.id))
        name = String(decodingJSON: reader.bytes.extracting(call.name))
        if let range = call.arguments {
            arguments = try Self.object(reader.bytes.extracting(range))
        } else {
            arguments = Array("{}".utf8)
        }
    }

    /// The object of arguments, which may be written as a text.
    private static func object(_ arguments: Span<UInt8>) throws(JSONError) -> [UInt8] {
        var buffer = ByteBuffer()
        guard arguments[0] == UInt8(ascii: "\"") else {
            buffer.append(arguments)
            return buffer.array
        }
        buffer.append(decodingJSON: arguments.extracting(1..<arguments.count - 1))
        if buffer.isEmpty {
            buffer.append("{}")
        }
        let bytes = buffer.bytes
        try JSONReader.validate(bytes)
        return buffer.array
    }
}
