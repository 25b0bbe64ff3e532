/// Whether the conditions of `@Guide` fit the types of their properties. The compiler reports what this does not know, at the
/// expanded code.
enum GuideCheck {
    static func faults(of declaration: TypeDeclaration, in source: SourceText) -> [SyntaxFault] {
        declaration.properties.flatMap { property in
            (property.guide?.conditions ?? []).compactMap {
                fault(of: $0.value, for: property.type.wrapped, in: source)
            }
        }
    }

    private static func fault(of condition: Range<Int>, for type: TypeSyntax, in source: SourceText) -> SyntaxFault? {
        guard let known = conditions(of: type), source[condition.lowerBound] == "." else { return nil }
        let name = source[condition.lowerBound + 1]
        guard known.contains(name) else {
            let list = known.isEmpty ? "there are none" : "there are \(known.joined(separator: ", "))"
            return SyntaxFault(
                message: "“\(name)” is not a condition for “\(type.text)”; \(list)",
                offset: source.offset(of: condition.lowerBound + 1))
        }
        guard name == "element", case .array(let element) = type.form, source[condition.lowerBound + 2] == "(" else {
            return nil
        }
        return fault(of: condition.lowerBound + 3..<condition.upperBound - 1, for: element.wrapped, in: source)
    }

    /// The names of the conditions for a type; `nil` for a type whose form is not known here.
    private static func conditions(of type: TypeSyntax) -> [String]? {
        switch type.form {
        case .array: ["count", "minimumCount", "maximumCount", "element"]
        case .named("String"): ["pattern", "constant", "anyOf"]
        case .named("Int"), .named("Double"): ["minimum", "maximum", "range"]
        case .named("Bool"): []
        case .named, .optional, .other: nil
        }
    }
}

extension Attribute {
    /// The arguments of `@Guide` other than its description.
    var conditions: [Argument] { arguments.filter { $0.label == nil } }
}
