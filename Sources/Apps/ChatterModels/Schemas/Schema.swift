/// The form of a value that a model generates.
#if hasAttribute(nonexhaustive)
    @nonexhaustive(warn)
#endif
public indirect enum Schema: Sendable, Hashable {
    /// A member of an object.
    public struct Property: Sendable, Hashable {
        public var name: String
        public var schema: Schema
        public var description: String?
        /// Whether the member may be missing, or `null`.
        public var isOptional: Bool

        public init(name: String, schema: Schema, description: String? = nil, isOptional: Bool = false) {
            self.name = name
            self.schema = schema
            self.description = description
            self.isOptional = isOptional
        }
    }

    case string(constraints: [Constraint<String>] = [])
    case integer(constraints: [Constraint<Int>] = [])
    case number(constraints: [Constraint<Double>] = [])
    case boolean
    case array(items: Schema, constraints: [ArrayConstraint] = [])
    case object(name: String, description: String?, properties: [Property])
    /// One of several forms.
    case anyOf(name: String, description: String?, schemas: [Schema])
    /// The value may be `null`.
    case optional(Schema)
}

extension Schema {
    /// The form of an object, with its members in order:
    ///
    ///     Schema.object("User") {
    ///         Property("name", String.self, description: "Username", .pattern("^[a-z]+$"))
    ///         Property("age", Int?.self, .minimum(18))
    ///     }
    public static func object(
        _ name: String, description: String? = nil, @SchemaBuilder _ properties: () -> [Property]
    ) -> Schema {
        .object(name: name, description: description, properties: properties())
    }

    /// The form of a choice among texts.
    public static func choice(_ name: String, description: String? = nil, of texts: [String]) -> Schema {
        .anyOf(name: name, description: description, schemas: texts.map { .string(constraints: [.constant($0)]) })
    }

    /// The form without `optional`.
    public var unwrapped: Schema {
        if case .optional(let schema) = self { schema.unwrapped } else { self }
    }

    /// The form with constraints added. Of an array, those of its elements go to its items. A constraint of another type of value has no
    /// effect.
    func adding(_ constraints: [ConstraintPayload]) -> Schema {
        switch self {
        case .optional(let schema): .optional(schema.adding(constraints))
        case .string(let present): .string(constraints: present + constraints.map { Constraint(payload: $0) })
        case .integer(let present): .integer(constraints: present + constraints.map { Constraint(payload: $0) })
        case .number(let present): .number(constraints: present + constraints.map { Constraint(payload: $0) })
        case .array(let items, let present):
            .array(
                items: items.adding(
                    constraints.compactMap { if case .element(let payload) = $0 { payload } else { nil } }),
                constraints: present
                    + constraints.compactMap {
                        if case .count(let range) = $0 {
                            ArrayConstraint(minimum: range.minimum, maximum: range.maximum)
                        } else {
                            nil
                        }
                    })
        case .boolean, .object, .anyOf: self
        }
    }
}
