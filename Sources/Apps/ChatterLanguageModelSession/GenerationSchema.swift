/// The form of a value that a model generates.
public struct GenerationSchema: Sendable, Hashable, CustomDebugStringConvertible {
    /// A member of an object.
    public struct Property: Sendable, Hashable {
        fileprivate let property: Schema.Property

        /// A member that is always there.
        @_disfavoredOverload
        public init<Value: Generable>(
            name: String, description: String? = nil, type: Value.Type, guides: [GenerationGuide<Value>] = []
        ) {
            property = Schema.Property(
                name: name, schema: Value.schema.adding(guides), description: description, isOptional: false)
        }

        /// A member that may be missing.
        public init<Value: Generable>(
            name: String, description: String? = nil, type: Value?.Type, guides: [GenerationGuide<Value>] = []
        ) {
            property = Schema.Property(
                name: name, schema: Value.schema.adding(guides), description: description, isOptional: true)
        }
    }

    /// Why forms do not fit together.
    public enum SchemaError: Error, Sendable, Hashable, CustomStringConvertible {
        /// No form has the name of a reference.
        case undefinedReference(String)
        /// Two forms have one name.
        case duplicateType(String)
        /// The form is nested too deeply, or contains itself.
        case recursive(String)

        public var description: String {
            switch self {
            case .undefinedReference(let name): "There is no form with the name \(name)."
            case .duplicateType(let name): "Two forms have the name \(name)."
            case .recursive(let name): "The form \(name) is nested too deeply, or contains itself."
            }
        }
    }

    /// The form as ChatterModels has it.
    public let schema: Schema

    public init(_ schema: Schema) {
        self.schema = schema
    }

    /// The form of an object.
    public init(type: any Generable.Type, description: String? = nil, properties: [Property]) {
        schema = .object(name: "\(type)", description: description, properties: properties.map(\.property))
    }

    /// The form of a choice among texts.
    public init(type: any Generable.Type, description: String? = nil, anyOf choices: [String]) {
        schema = .choice("\(type)", description: description, of: choices)
    }

    /// A form that is made at run time. It refers to the dependencies by their names.
    ///
    /// - Throws: `SchemaError`.
    public init(root: DynamicGenerationSchema, dependencies: [DynamicGenerationSchema]) throws {
        let names = ([root] + dependencies).compactMap(\.name)
        for (index, name) in names.enumerated() where names[..<index].contains(name) {
            throw SchemaError.duplicateType(name)
        }
        schema = try root.resolved(with: [root] + dependencies, depth: 0)
    }

    public var debugDescription: String { schema.jsonSchema().json }
}
