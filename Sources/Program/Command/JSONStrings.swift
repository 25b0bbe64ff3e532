import ChatterdBasics

/// Reads strings from small JSON documents.
enum JSONStrings {
    /// The string member of an object; `nil` if the text is not an object with such a member.
    static func member(_ name: String, of text: [UInt8]) -> String? {
        var reader = JSONReader(text.span)
        return try? member(name, of: &reader)
    }

    /// The string members of the objects of a list, which is a member itself; `nil` if the text contains no such list.
    static func members(_ name: String, inListOf list: String, of text: [UInt8]) -> [String]? {
        var reader = JSONReader(text.span)
        return try? members(name, inListOf: list, of: &reader)
    }

    private static func members(
        _ name: String, inListOf list: String, of reader: inout JSONReader
    ) throws(JSONError) -> [String]? {
        var found: [String]?
        try reader.beginObject()
        while let key = try reader.nextKey() {
            guard String(decodingJSON: reader.bytes.extracting(key.range)) == list, try reader.kind() == .array else {
                try reader.skipValue()
                continue
            }
            var names: [String] = []
            try reader.beginArray()
            while try reader.nextElement() {
                if let text = try member(name, of: &reader) { names.append(text) }
            }
            found = names
        }
        return found
    }

    private static func member(_ name: String, of reader: inout JSONReader) throws(JSONError) -> String? {
        var found: String?
        try reader.beginObject()
        while let key = try reader.nextKey() {
            guard String(decodingJSON: reader.bytes.extracting(key.range)) == name, try reader.kind() == .string else {
                try reader.skipValue()
                continue
            }
            let value = try reader.string()
            found = String(decodingJSON: reader.bytes.extracting(value.range))
        }
        return found
    }
}
