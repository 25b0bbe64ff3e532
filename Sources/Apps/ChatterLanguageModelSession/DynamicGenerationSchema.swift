/// A form that is made at run time. Make a `GenerationSchema` of it.
public struct DynamicGenerationSchema: Sendable, Hashable {
    /// A member of an object.
    public struct Property: Sendable, Hashable {
        fileprivate let name: String
        fileprivate let description: String?
        fileprivate let schema: DynamicGenerationSchema
        fileprivate let isOptional: Bool

        public init(
            name: String, description: String? = nil, schema: DynamicGenerationSchema, isOptional: Bool = false
        ) {
            self.name = name
            self.description = description
            self.schema = schema
            self.isOptional = isOptional
        }
    }

    private indirect enum Form: Hashable {
        case whole(Schema)
        case object([Property])
        case choice([DynamicGenerationSchema])
        case array(DynamicGenerationSchema, ArrayConstraint)
        case reference(String)
    }

    /// How deep forms are nested at most, which also ends forms that contain themselves.
    private static let maximumDepth = 32

    /// The name, to which others refer.
    let name: String?
    private let description: String?
    private let form: Form

    private init(name: String? = nil, description: String? = nil, form: Form) {
        self.name = name
        self.description = description
        self.form = form
    }

    /// An object.
    public init(name: String, description: String? = nil, properties: [Property]) {
        self.init(name: name, description: description, form: .object(properties))
    }

    /// One of several forms.
    public init(name: String, description: String? = nil, anyOf choices: [DynamicGenerationSchema]) {
        self.init(name: name, description: description, form: .choice(choices))
    }

    /// One of several texts.
    public init(name: String, description: String? = nil, anyOf choices: [String]) {
        self.init(name: name, form: .whole(.choice(name, description: description, of: choices)))
    }

    /// An array.
    public init(arrayOf element: DynamicGenerationSchema, minimumElements: Int? = nil, maximumElements: Int? = nil) {
        self.init(form: .array(element, ArrayConstraint(minimum: minimumElements, maximum: maximumElements)))
    }

    /// The form of a type.
    public init<Value: Generable>(type: Value.Type, guides: [GenerationGuide<Value>] = []) {
        self.init(form: .whole(Value.schema.adding(guides)))
    }

    /// The form of this name.
    public init(referenceTo name: String) {
        self.init(form: .reference(name))
    }

    /// The form without references.
    func resolved(
        with forms: [DynamicGenerationSchema], depth: Int
    ) throws(GenerationSchema.SchemaError) -> Schema {
        guard depth < Self.maximumDepth else { throw .recursive(name ?? "of an array") }
        switch form {
        case .whole(let schema): return schema
        case .object(let properties):
            var resolved: [Schema.Property] = []
            for property in properties {
                resolved.append(
                    Schema.Property(
                        name: property.name, schema: try property.schema.resolved(with: forms, depth: depth + 1),
                        description: property.description, isOptional: property.isOptional))
            }
            return .object(name: name ?? "Object", description: description, properties: resolved)
        case .choice(let choices):
            var schemas: [Schema] = []
            for choice in choices {
                schemas.append(try choice.resolved(with: forms, depth: depth + 1))
            }
            return .anyOf(name: name ?? "Choice", description: description, schemas: schemas)
        case .array(let element, let constraint):
            return .array(
                items: try element.resolved(with: forms, depth: depth + 1),
                constraints: constraint == ArrayConstraint() ? [] : [constraint])
        case .reference(let name):
            guard let form = forms.first(where: { $0.name == name }) else { throw .undefinedReference(name) }
            guard depth + 1 < Self.maximumDepth else { throw .recursive(name) }
            return try form.resolved(with: forms, depth: depth + 1)
        }
    }
}
