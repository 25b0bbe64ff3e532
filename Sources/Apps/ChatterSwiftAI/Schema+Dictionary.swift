import ChatterModels

extension Schema {
    /// The form of an object whose members are named by the keys, in order.
    public static func object(
        name: String, description: String?, properties: KeyValuePairs<String, Property>
    ) -> Schema {
        .object(
            name: name, description: description,
            properties: properties.map { key, property in
                Property(
                    name: key, schema: property.schema, description: property.description,
                    isOptional: property.isOptional)
            })
    }
}

extension Schema.Property {
    /// A member whose name is its key in `Schema.object(name:description:properties:)`; without one, its name is empty.
    public init(schema: Schema, description: String?, isOptional: Bool) {
        self.init(name: "", schema: schema, description: description, isOptional: isOptional)
    }
}
