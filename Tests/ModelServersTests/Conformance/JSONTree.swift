import ChatterdBasics
import ChatterdTestSupport

/// A JSON text with the order of its keys and the spelling of its numbers.
indirect enum JSONTree: Equatable, Sendable, CustomStringConvertible {
    case object([Member])
    case array([JSONTree])
    case string(String)
    case number(String)
    case boolean(Bool)
    case null

    struct Member: Equatable, Sendable {
        let key: String
        let value: JSONTree
    }

    init(_ text: String) throws(JSONError) {
        let bytes = Array(text.utf8)
        var reader = JSONReader(bytes.span)
        self = try JSONTree(from: &reader)
        try reader.finish()
    }

    private init(from reader: inout JSONReader) throws(JSONError) {
        switch try reader.kind() {
        case .object:
            var members: [Member] = []
            try reader.beginObject()
            while let key = try reader.nextKey() {
                let name = String(decodingJSON: reader.bytes.extracting(key.range))
                members.append(Member(key: name, value: try JSONTree(from: &reader)))
            }
            self = .object(members)
        case .array:
            var elements: [JSONTree] = []
            try reader.beginArray()
            while try reader.nextElement() {
                elements.append(try JSONTree(from: &reader))
            }
            self = .array(elements)
        case .string:
            self = .string(String(decodingJSON: reader.bytes.extracting(try reader.string().range)))
        case .number:
            self = .number(String(decodingJSON: reader.bytes.extracting(try reader.skipValue())))
        case .boolean:
            self = .boolean(try reader.boolean())
        case .null:
            _ = try reader.skipValue()
            self = .null
        }
    }

    /// The member of that name, the last one if there are several.
    subscript(_ key: String) -> JSONTree? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.key == key }?.value
    }

    var string: String? { if case .string(let text) = self { text } else { nil } }

    var integer: Int? { if case .number(let text) = self { Int(text) } else { nil } }

    var elements: [JSONTree] { if case .array(let elements) = self { elements } else { [] } }

    /// The text without white space, and with one spelling of its strings.
    var description: String {
        switch self {
        case .object(let members):
            "{\(members.map { "\(jsonString($0.key)):\($0.value)" }.joined(separator: ","))}"
        case .array(let elements): "[\(elements.map(\.description).joined(separator: ","))]"
        case .string(let text): jsonString(text)
        case .number(let text): text
        case .boolean(let value): "\(value)"
        case .null: "null"
        }
    }

    /// The same with the keys of all objects sorted, for comparisons without regard to order.
    var sorted: JSONTree {
        switch self {
        case .object(let members):
            .object(members.map { Member(key: $0.key, value: $0.value.sorted) }.sorted { $0.key < $1.key })
        case .array(let elements): .array(elements.map(\.sorted))
        default: self
        }
    }
}
