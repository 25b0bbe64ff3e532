import Foundation

/// The schemas of an OpenAPI document below Tests/Specifications, and the check of a JSON text with one of them.
public struct SpecificationSchemas: Sendable {
    private let schemas: [String: JSONTree]
    /// The names of the schemas of events by their `type`.
    private let events: [String: String]

    /// Reads the document of Open Responses.
    public static func openResponses() throws -> SpecificationSchemas {
        let root = String(#filePath.prefix(upTo: #filePath.firstRange(of: "/Tests/")?.lowerBound ?? #filePath.endIndex))
        let path = root + "/Tests/Specifications/openresponses.json"
        return try SpecificationSchemas(JSONTree(Data(contentsOf: URL(fileURLWithPath: path))))
    }

    private init(_ document: JSONTree) {
        schemas = document["components"]["schemas"].members
        let stream = document["paths"]["/responses"]["post"]["responses"]["200"]["content"]["text/event-stream"]
        var events: [String: String] = [:]
        for reference in stream["schema"]["oneOf"].elements {
            let name = Self.name(of: reference) ?? ""
            for type in schemas[name]?["properties"]["type"]["enum"].elements ?? [] { events[type.text ?? ""] = name }
        }
        self.events = events
    }

    /// The types of events.
    public var eventTypes: [String] { events.keys.sorted() }

    /// What is wrong with a JSON text as an instance of a schema; empty if nothing is.
    public func problems(of json: String, as schema: String) -> [String] {
        guard let value = try? JSONTree(Data(json.utf8)) else { return ["no JSON: \(json)"] }
        guard let found = schemas[schema] else { return ["no schema \(schema)"] }
        return problems(of: value, found, at: schema)
    }

    /// What is wrong with the data of an event; empty if nothing is.
    public func problems(ofEvent json: String) -> [String] {
        let type = (try? JSONTree(Data(json.utf8)))?["type"].text ?? ""
        guard let schema = events[type] else { return ["no event of type \(type)"] }
        return problems(of: json, as: schema)
    }

    private static func name(of reference: JSONTree) -> String? {
        reference["$ref"].text?.split(separator: "/").last.map(String.init)
    }

    private func problems(of value: JSONTree, _ schema: JSONTree, at path: String) -> [String] {
        if let name = Self.name(of: schema) {
            guard let found = schemas[name] else { return ["\(path): no schema \(name)"] }
            return problems(of: value, found, at: path)
        }
        var problems: [String] = []
        if let type = schema["type"].text, !value.isOf(type) {
            return ["\(path): \(value) is no \(type)"]
        }
        let values = schema["enum"].elements
        if !values.isEmpty, !values.contains(value) { problems.append("\(path): \(value) is none of the values") }
        if let pattern = schema["pattern"].text, let text = value.text,
            text.range(of: pattern, options: .regularExpression) == nil
        {
            problems.append("\(path): \(text) does not match \(pattern)")
        }
        if let number = value.number {
            if let least = schema["minimum"].number, number < least { problems.append("\(path): too small") }
            if let most = schema["maximum"].number, number > most { problems.append("\(path): too large") }
        }
        if let text = value.text {
            if let least = schema["minLength"].number, Double(text.count) < least {
                problems.append("\(path): too short")
            }
            if let most = schema["maxLength"].number, Double(text.count) > most { problems.append("\(path): too long") }
        }
        for part in schema["allOf"].elements { problems += self.problems(of: value, part, at: path) }
        for (keyword, isExact) in [("oneOf", true), ("anyOf", false)] {
            let parts = schema[keyword].elements
            guard !parts.isEmpty else { continue }
            let found = parts.map { self.problems(of: value, $0, at: path) }
            let count = found.count { $0.isEmpty }
            if count == 0 { problems.append("\(path): none of \(keyword): \(found)") }
            if isExact, count > 1 { problems.append("\(path): several of \(keyword)") }
        }
        for (index, element) in value.elements.enumerated() where schema["items"] != .null {
            problems += self.problems(of: element, schema["items"], at: "\(path)[\(index)]")
        }
        for name in schema["required"].elements.compactMap(\.text) where value.members[name] == nil {
            problems.append("\(path): \(name) is missing")
        }
        for (name, member) in value.members {
            if let schema = schema["properties"].members[name] {
                problems += self.problems(of: member, schema, at: "\(path).\(name)")
            } else if schema["additionalProperties"].members.isEmpty == false {
                problems += self.problems(of: member, schema["additionalProperties"], at: "\(path).\(name)")
            }
        }
        return problems
    }
}

/// A JSON value.
private enum JSONTree: Decodable, Hashable, Sendable, CustomStringConvertible {
    case null
    case boolean(Bool)
    case number(Double)
    case string(String)
    case array([JSONTree])
    case object([String: JSONTree])

    init(_ data: Data) throws {
        self = try JSONDecoder().decode(JSONTree.self, from: data)
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONTree].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONTree].self))
        }
    }

    subscript(_ name: String) -> JSONTree { members[name] ?? .null }

    var members: [String: JSONTree] { if case .object(let members) = self { members } else { [:] } }
    var elements: [JSONTree] { if case .array(let elements) = self { elements } else { [] } }
    var text: String? { if case .string(let text) = self { text } else { nil } }
    var number: Double? { if case .number(let number) = self { number } else { nil } }

    /// Whether the value has a type of JSON Schema.
    func isOf(_ type: String) -> Bool {
        switch (self, type) {
        case (.null, "null"), (.boolean, "boolean"), (.number, "number"), (.string, "string"), (.array, "array"),
            (.object, "object"):
            true
        case (.number(let number), "integer"): number == number.rounded()
        default: false
        }
    }

    var description: String {
        switch self {
        case .null: "null"
        case .boolean(let value): "\(value)"
        case .number(let value): "\(value)"
        case .string(let value): "\"\(value)\""
        case .array(let values): "\(values)"
        case .object(let members): "{\(members.map { "\($0): \($1)" }.sorted().joined(separator: ", "))}"
        }
    }
}
