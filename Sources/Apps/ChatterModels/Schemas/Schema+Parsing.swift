extension Schema {
    /// The limit of nested forms, which also ends forms that contain themselves.
    private static let maximumDepth = 32

    /// Reads a JSON Schema: the keywords that `jsonSchema` writes, `const`, `type` as a list with `null`, and references to `$defs`. Other
    /// keywords have no effect.
    ///
    /// - Throws: `SchemaViolation` for a form that has none of these types, or contains itself.
    public init(jsonSchema: StructuredContent) throws(SchemaViolation) {
        try self.init(jsonSchema, in: jsonSchema, at: "$", depth: 0)
    }

    private init(
        _ schema: StructuredContent, in document: StructuredContent, at path: String, depth: Int
    ) throws(SchemaViolation) {
        guard depth < Self.maximumDepth else {
            throw SchemaViolation(path: path, reason: "is nested too deeply, or contains itself")
        }
        if case .string(let reference)? = schema["$ref"] {
            let name = reference.split(separator: "/").last.map(String.init) ?? ""
            guard let target = document["$defs"]?[name] ?? document["definitions"]?[name] else {
                throw SchemaViolation(path: path, reason: "refers to \(reference), which does not exist")
            }
            try self.init(target, in: document, at: path, depth: depth + 1)
            return
        }
        if case .array(let choices)? = schema["anyOf"] {
            self = try Self.choice(choices, of: schema, in: document, at: path, depth: depth)
            return
        }
        switch schema["type"] {
        case .array(let types)?:
            let others = types.filter { $0 != "null" }
            guard others.count == 1, let type = others.first else {
                throw SchemaViolation(path: path, reason: "has several types")
            }
            let form = try Schema(schema.replacing("type", with: type), in: document, at: path, depth: depth + 1)
            self = types.count > 1 ? .optional(form) : form
        case "string"?: self = Self.string(schema)
        case "integer"?:
            self = .integer(constraints: Self.limits(schema).map { Constraint(payload: .integers($0, $1)) })
        case "number"?:
            let (minimum, maximum) = (schema["minimum"]?.double, schema["maximum"]?.double)
            let hasLimit = minimum != nil || maximum != nil
            self = .number(constraints: hasLimit ? [Constraint(payload: .numbers(minimum, maximum))] : [])
        case "boolean"?: self = .boolean
        case "array"?:
            let count = ArrayConstraint(
                minimum: schema["minItems"]?.exactInteger, maximum: schema["maxItems"]?.exactInteger)
            self = .array(
                items: try Schema(schema["items"] ?? .null, in: document, at: path + "[]", depth: depth + 1),
                constraints: count == ArrayConstraint() ? [] : [count])
        case "object"?: self = try Self.object(schema, in: document, at: path, depth: depth)
        default: throw SchemaViolation(path: path, reason: "has no type that can be generated")
        }
    }

    private static func limits(_ schema: StructuredContent) -> [(Int?, Int?)] {
        let (minimum, maximum) = (schema["minimum"]?.exactInteger, schema["maximum"]?.exactInteger)
        return minimum == nil && maximum == nil ? [] : [(minimum, maximum)]
    }

    private static func string(_ schema: StructuredContent) -> Schema {
        var constraints: [Constraint<String>] = []
        if case .string(let pattern)? = schema["pattern"] { constraints.append(.pattern(pattern)) }
        let texts = (schema["enum"]?.wireElements ?? schema["const"].map { [$0] } ?? []).compactMap(\.wireText)
        if let title = schema["title"]?.wireText, !texts.isEmpty {
            return .choice(title, description: schema["description"]?.wireText, of: texts)
        }
        if !texts.isEmpty { constraints.append(.anyOf(texts)) }
        return .string(constraints: constraints)
    }

    private static func choice(
        _ choices: [StructuredContent], of schema: StructuredContent, in document: StructuredContent, at path: String,
        depth: Int
    ) throws(SchemaViolation) -> Schema {
        var forms: [Schema] = []
        for choice in choices where choice["type"] != "null" {
            forms.append(try Schema(choice, in: document, at: path, depth: depth + 1))
        }
        let form =
            forms.count == 1
            ? forms[0]
            : .anyOf(
                name: schema["title"]?.wireText ?? "Choice", description: schema["description"]?.wireText,
                schemas: forms)
        return forms.count < choices.count ? .optional(form) : form
    }

    private static func object(
        _ schema: StructuredContent, in document: StructuredContent, at path: String, depth: Int
    ) throws(SchemaViolation) -> Schema {
        guard case .object(var members) = schema["properties"] ?? [:] else {
            throw SchemaViolation(path: path, reason: "has properties that are not an object")
        }
        // FoundationModels writes the order of the members beside them.
        if case .array(let order)? = schema["x-order"] {
            let names = order.compactMap(\.wireText)
            members.sort { (names.firstIndex(of: $0.name) ?? .max) < (names.firstIndex(of: $1.name) ?? .max) }
        }
        let required = Set((schema["required"]?.wireElements ?? []).compactMap(\.wireText))
        var properties: [Property] = []
        for member in members {
            let form = try Schema(member.value, in: document, at: "\(path).\(member.name)", depth: depth + 1)
            properties.append(
                Property(
                    name: member.name, schema: form.unwrapped, description: member.value["description"]?.wireText,
                    isOptional: !required.contains(member.name) || form.unwrapped != form))
        }
        return .object(
            name: schema["title"]?.wireText ?? "Object", description: schema["description"]?.wireText,
            properties: properties)
    }
}

extension StructuredContent {
    /// The object with another value of a member.
    fileprivate func replacing(_ name: String, with value: StructuredContent) -> StructuredContent {
        guard case .object(let members) = self else { return self }
        return .object(members.map { $0.name == name ? Member(name, value) : $0 })
    }
}
