import ChatterdBasics
import ChatterdPostgres

/// A list of names as a column has it: a JSON array, null for all names.
enum StoredNames {
    /// The value of the column.
    static func parameter(_ names: [String]?) -> Parameter {
        guard let names else { return .null }
        var text = ByteBuffer()
        text.appendJSON { json in
            json.array { json in
                for name in names {
                    json.string(name)
                }
            }
        }
        return .utf8(text.array)
    }

    /// The names; none of a damaged array, so that it permits none.
    static func parse(_ text: String) -> [String] {
        let bytes = Array(text.utf8)
        var names: [String] = []
        do throws(JSONError) {
            var reader = JSONReader(bytes.span)
            try reader.beginArray()
            while try reader.nextElement() {
                names.append(String(decodingJSON: bytes.span.extracting(try reader.string().range)))
            }
            return names
        } catch {
            return []
        }
    }
}
