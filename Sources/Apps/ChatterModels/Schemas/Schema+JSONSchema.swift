extension Schema {
    /// The two forms of JSON Schema that servers read.
    public enum Style: Sendable, Hashable {
        /// A member that may be missing is not `required`.
        case plain
        /// OpenAI's strict form: each member is `required`, and one that may be missing may be `null`.
        case strict
    }

    /// The JSON Schema, with its keywords and members in a fixed order.
    public func jsonSchema(_ style: Style = .plain) -> StructuredContent {
        .object(keywords(style, description: nil))
    }

    private func keywords(_ style: Style, description: String?) -> [StructuredContent.Member] {
        var members: [StructuredContent.Member] = []
        func add(_ name: String, _ value: StructuredContent?) {
            if let value { members.append(StructuredContent.Member(name, value)) }
        }
        switch self {
        case .string(let constraints):
            add("type", "string")
            add("description", description.map { .string($0) })
            for constraint in constraints {
                switch constraint.payload {
                case .pattern(let expression): add("pattern", .string(expression))
                case .anyOf(let texts): add("enum", .array(texts.map { .string($0) }))
                default: break
                }
            }
        case .integer(let constraints):
            add("type", "integer")
            add("description", description.map { .string($0) })
            for case .integers(let minimum, let maximum) in constraints.map(\.payload) {
                add("minimum", minimum.map { .integer($0) })
                add("maximum", maximum.map { .integer($0) })
            }
        case .number(let constraints):
            add("type", "number")
            add("description", description.map { .string($0) })
            for case .numbers(let minimum, let maximum) in constraints.map(\.payload) {
                add("minimum", minimum.map { .number($0) })
                add("maximum", maximum.map { .number($0) })
            }
        case .boolean:
            add("type", "boolean")
            add("description", description.map { .string($0) })
        case .array(let items, let constraints):
            add("type", "array")
            add("description", description.map { .string($0) })
            add("items", items.jsonSchema(style))
            for constraint in constraints {
                add("minItems", constraint.minimum.map { .integer($0) })
                add("maxItems", constraint.maximum.map { .integer($0) })
            }
        case .object(let name, let own, let properties):
            add("type", "object")
            add("title", .string(name))
            add("description", (description ?? own).map { .string($0) })
            add(
                "properties",
                .object(
                    properties.map { property in
                        let schema =
                            style == .strict && property.isOptional ? .optional(property.schema) : property.schema
                        return StructuredContent.Member(
                            property.name, .object(schema.keywords(style, description: property.description)))
                    }))
            add(
                "required",
                .array(properties.filter { style == .strict || !$0.isOptional }.map { .string($0.name) }))
            add("additionalProperties", false)
        case .anyOf(let name, let own, let schemas):
            add("title", .string(name))
            add("description", (description ?? own).map { .string($0) })
            if let texts = constants {
                add("type", "string")
                add("enum", .array(texts.map { .string($0) }))
            } else {
                add("anyOf", .array(schemas.map { $0.jsonSchema(style) }))
            }
        case .optional(let schema):
            add("description", description.map { .string($0) })
            add("anyOf", [schema.unwrapped.jsonSchema(style), ["type": "null"]])
        }
        return members
    }

    /// The texts, if this is a choice among texts.
    private var constants: [String]? {
        guard case .anyOf(_, _, let schemas) = self else { return nil }
        var texts: [String] = []
        for schema in schemas {
            guard case .string(let constraints) = schema, constraints.count == 1,
                case .anyOf(let list)? = constraints.first?.payload
            else { return nil }
            texts += list
        }
        return texts
    }
}
