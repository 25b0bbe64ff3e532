import ChatterdBasics
import ChatterdChat

/// A description, with the part of a schema that Llama Stack can express only there.
struct LlamaStackDescription {
    var text = ""
    var rest: [RawMember] = []

    /// The description as a JSON string; `nil` if it is empty.
    var json: [UInt8]? {
        guard !text.isEmpty || !rest.isEmpty else { return nil }
        var buffer = ByteBuffer()
        buffer.append(utf8: text)
        if !rest.isEmpty {
            buffer.append(utf8: text.isEmpty ? "{" : " {")
            buffer.append(rest)
            buffer.append(UInt8(ascii: "}"))
        }
        var json = ByteBuffer()
        json.append(jsonString: buffer.bytes)
        return json.array
    }
}

extension [UInt8] {
    /// The text that a JSON string encodes.
    func jsonText() throws(JSONError) -> String {
        var reader = JSONReader(span)
        let string = try reader.string()
        return String(decodingJSON: span.extracting(string.range))
    }
}
