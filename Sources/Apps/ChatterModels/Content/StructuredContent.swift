/// A JSON value: members keep their order, and integers stay exact.
public enum StructuredContent: Sendable, Hashable {
    /// A member of an object.
    public struct Member: Sendable, Hashable {
        public var name: String
        public var value: StructuredContent

        public init(_ name: String, _ value: StructuredContent) {
            self.name = name
            self.value = value
        }
    }

    case null
    case bool(Bool)
    case integer(Int)
    /// A number with a fraction or an exponent, or one that does not fit `Int`.
    case number(Double)
    case string(String)
    /// The beginning of a string whose end has not arrived. It occurs in streamed values only, as their last string.
    case unfinishedString(String)
    case array([StructuredContent])
    case object([Member])
}

extension StructuredContent {
    /// The value of a member; `nil` if this is no object, or has none of that name.
    public subscript(name: String) -> StructuredContent? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.name == name }?.value
    }

    /// The name of the type in JSON Schema.
    var typeName: String {
        switch self {
        case .null: "null"
        case .bool: "boolean"
        case .integer: "integer"
        case .number: "number"
        case .string, .unfinishedString: "string"
        case .array: "array"
        case .object: "object"
        }
    }
}

extension StructuredContent: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .number(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(arrayLiteral elements: StructuredContent...) { self = .array(elements) }
    public init(dictionaryLiteral elements: (String, StructuredContent)...) {
        self = .object(elements.map { Member($0.0, $0.1) })
    }
    public init(nilLiteral: ()) { self = .null }
}

extension StructuredContent: Codable {
    /// Decodes the JSON text that `encode` writes.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        do {
            self = try StructuredContent(json: text)
        } catch {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a JSON text")
        }
    }

    /// Encodes the value as a string with its JSON text, because containers of `Encoder` do not keep the order of members.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(json)
    }
}
