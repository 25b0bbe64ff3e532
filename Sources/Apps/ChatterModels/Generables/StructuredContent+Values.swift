extension StructuredContent {
    /// The member of an object, as a value.
    ///
    /// - Throws: `SchemaViolation` if it is missing, or has another type.
    public func member<Value: Generable>(_ name: String, as type: Value.Type = Value.self) throws -> Value {
        guard let value = self[name] else { throw SchemaViolation(path: "$.\(name)", reason: "is missing") }
        return try Value(from: value)
    }

    /// The member of an object, as a value; `nil` if it is missing or `null`.
    public func member<Value: Generable>(_ name: String, as type: Value?.Type = Value?.self) throws -> Value? {
        guard let value = self[name], value != .null else { return nil }
        return try Value(from: value)
    }

    /// The value as an integer, also if it is written as `2.0` or `2e0`.
    var exactInteger: Int? {
        switch self {
        case .integer(let value): value
        case .number(let value): Int(exactly: value)
        default: nil
        }
    }

    var double: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }

    func mismatch(_ expected: String) -> SchemaViolation {
        SchemaViolation(path: "$", reason: "is of type \(typeName), not \(expected)")
    }
}
