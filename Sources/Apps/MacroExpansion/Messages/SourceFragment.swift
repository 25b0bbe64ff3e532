import ChatterdBasics

/// A piece of a source file, as the compiler sends it.
struct SourceFragment: Equatable {
    private(set) var source = ""
    private(set) var fileName = ""
    /// The byte of the file at which the piece begins.
    private(set) var offset = 0

    /// Reads `{"source":…,"location":{"fileName":…,"offset":…}}`; `nil` for `null`.
    init?(reading reader: inout JSONReader) throws(JSONError) {
        guard try reader.kind() == .object else {
            try reader.skipValue()
            return nil
        }
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if reader.matches(key, "source") {
                source = try reader.text()
            } else if reader.matches(key, "location"), try reader.kind() == .object {
                try readLocation(&reader)
            } else {
                try reader.skipValue()
            }
        }
    }

    private mutating func readLocation(_ reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if reader.matches(key, "fileName") {
                fileName = try reader.text()
            } else if reader.matches(key, "offset") {
                offset = try reader.integer() ?? 0
            } else {
                try reader.skipValue()
            }
        }
    }
}

extension JSONReader {
    /// Reads a string.
    mutating func text() throws(JSONError) -> String {
        String(decodingJSON: bytes.extracting(try string().range))
    }
}
