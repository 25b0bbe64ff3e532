/// Collects the members of an object's form.
@resultBuilder
public enum SchemaBuilder {
    public static func buildBlock(_ properties: Schema.Property...) -> [Schema.Property] { properties }
}

/// A member of an object's form, in a `Schema.object`.
public typealias Property = Schema.Property

extension Schema.Property {
    /// A member of a type, with the conditions for its value.
    @_disfavoredOverload
    public init<Value: Generable>(
        _ name: String, _ type: Value.Type, description: String? = nil, _ constraints: Constraint<Value>...
    ) {
        self.init(
            name: name, schema: Value.schema.adding(constraints.map(\.payload)), description: description,
            isOptional: false)
    }

    /// A member that may be missing, or `null`.
    public init<Value: Generable>(
        _ name: String, _ type: Value?.Type, description: String? = nil, _ constraints: Constraint<Value>...
    ) {
        self.init(
            name: name, schema: Value.schema.adding(constraints.map(\.payload)), description: description,
            isOptional: true)
    }
}
