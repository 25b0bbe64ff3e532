extension Schema {
    /// The places where a value does not have this form; empty if it has.
    ///
    /// A server may ignore a part of the schema that it was sent, so each answer is checked here.
    public func violations(in content: StructuredContent) -> [SchemaViolation] {
        violations(in: content, at: "$")
    }

    private func violations(in content: StructuredContent, at path: String) -> [SchemaViolation] {
        func wrong(_ reason: String) -> [SchemaViolation] { [SchemaViolation(path: path, reason: reason)] }
        func mismatch(_ expected: String) -> [SchemaViolation] {
            wrong("is of type \(content.typeName), not \(expected)")
        }
        switch self {
        case .optional(let schema):
            return content == .null ? [] : schema.violations(in: content, at: path)
        case .boolean:
            if case .bool = content { return [] }
            return mismatch("boolean")
        case .string(let constraints):
            guard case .string(let text) = content else { return mismatch("string") }
            return constraints.compactMap { $0.payload.violation(by: text) }.flatMap(wrong)
        case .integer(let constraints):
            guard let number = content.exactInteger else { return mismatch("integer") }
            return constraints.compactMap { $0.payload.violation(by: number) }.flatMap(wrong)
        case .number(let constraints):
            guard let number = content.double else { return mismatch("number") }
            return constraints.compactMap { $0.payload.violation(by: number) }.flatMap(wrong)
        case .array(let items, let constraints):
            guard case .array(let elements) = content else { return mismatch("array") }
            return constraints.compactMap { $0.violation(by: elements.count) }.flatMap(wrong)
                + elements.enumerated().flatMap { items.violations(in: $0.element, at: "\(path)[\($0.offset)]") }
        case .object(_, _, let properties):
            guard case .object(let members) = content else { return mismatch("object") }
            return Self.violations(in: members, of: properties, at: path)
        case .anyOf(let name, _, let schemas):
            let fits = schemas.contains { $0.violations(in: content, at: path).isEmpty }
            return fits ? [] : wrong("is not one of the forms of \(name)")
        }
    }

    private static func violations(
        in members: [StructuredContent.Member], of properties: [Property], at path: String
    ) -> [SchemaViolation] {
        var found: [SchemaViolation] = []
        for property in properties {
            let place = "\(path).\(property.name)"
            switch members.last(where: { $0.name == property.name })?.value {
            case nil where !property.isOptional: found.append(SchemaViolation(path: place, reason: "is missing"))
            case nil: break
            case .null? where property.isOptional: break
            case let value?: found += property.schema.violations(in: value, at: place)
            }
        }
        for member in members where !properties.contains(where: { $0.name == member.name }) {
            found.append(SchemaViolation(path: "\(path).\(member.name)", reason: "is not a member of this object"))
        }
        return found
    }
}

extension ConstraintPayload {
    fileprivate func violation(by text: String) -> String? {
        switch self {
        case .pattern(let expression):
            guard let regex = try? Regex(expression) else {
                return "cannot be checked: /\(expression)/ is not a pattern"
            }
            return text.contains(regex) ? nil : "does not match /\(expression)/"
        case .anyOf(let texts):
            return texts.contains(text) ? nil : "is not one of \(texts.joined(separator: ", "))"
        default: return nil
        }
    }

    fileprivate func violation(by number: Int) -> String? {
        guard case .integers(let minimum, let maximum) = self else { return nil }
        if let minimum, number < minimum { return "is less than \(minimum)" }
        if let maximum, number > maximum { return "is greater than \(maximum)" }
        return nil
    }

    fileprivate func violation(by number: Double) -> String? {
        guard case .numbers(let minimum, let maximum) = self else { return nil }
        if let minimum, number < minimum { return "is less than \(minimum)" }
        if let maximum, number > maximum { return "is greater than \(maximum)" }
        return nil
    }
}

extension ArrayConstraint {
    fileprivate func violation(by count: Int) -> String? {
        if let minimum, count < minimum { return "has \(count) elements, not \(minimum) or more" }
        if let maximum, count > maximum { return "has \(count) elements, not \(maximum) or fewer" }
        return nil
    }
}

/// A place where a value does not have the form that was asked for.
public struct SchemaViolation: Error, Sendable, Hashable, CustomStringConvertible {
    /// The place: `$.authors[2]`.
    public let path: String
    public let reason: String

    public init(path: String, reason: String) {
        self.path = path
        self.reason = reason
    }

    public var description: String { "\(path) \(reason)" }
}
