import ChatterdBasics
import ChatterdChat

extension InstalledModel {
    /// Reads the value of a member of an entry of Ollama's list, if the member is known.
    ///
    /// - Returns: whether the value was read.
    mutating func read(_ key: JSONString, from reader: inout JSONReader) throws(JSONError) -> Bool {
        if reader.matches(key, "modified_at") {
            modifiedAt = try Self.text(from: &reader)
        } else if reader.matches(key, "size") {
            size = try reader.countOrSkip() ?? 0
        } else if reader.matches(key, "digest") {
            digest = try Self.text(from: &reader)
        } else if reader.matches(key, "details"), try reader.kind() == .object {
            try readDetails(from: &reader)
        } else {
            return false
        }
        return true
    }

    private mutating func readDetails(from reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while let key = try reader.nextKey() {
            // `parent_model` may be a path of the server's machine.
            if reader.matches(key, "format") {
                format = try Self.text(from: &reader)
            } else if reader.matches(key, "family") {
                family = try Self.text(from: &reader)
            } else if reader.matches(key, "families"), try reader.kind() == .array {
                try reader.beginArray()
                while try reader.nextElement() {
                    let name = try Self.text(from: &reader)
                    if !name.isEmpty, families.count < Self.familyLimit { families.append(name) }
                }
            } else if reader.matches(key, "parameter_size") {
                parameterSize = try Self.text(from: &reader)
            } else if reader.matches(key, "quantization_level") {
                quantizationLevel = try Self.text(from: &reader)
            } else {
                try reader.skipValue()
            }
        }
    }

    /// A text within the limit; empty for any other value.
    private static func text(from reader: inout JSONReader) throws(JSONError) -> String {
        guard let text = try reader.stringOrSkip(), text.range.count <= textLimit else { return "" }
        return String(decodingJSON: reader.bytes.extracting(text.range))
    }
}
