extension ExtensionWriter {
    /// The members that are generated for an enumeration: without values a choice among texts, with values one of several objects whose
    /// member `type` is the name of the case.
    ///
    /// - Throws: a fault if there is no case, or the raw values are not texts.
    func enumerationMembers() throws(SyntaxFault) -> String {
        try hasValues() ? caseMembers : try choiceMembers()
    }

    /// The members of the extension of an enumeration. They name no types of the declaration.
    ///
    /// - Throws: the same faults.
    func enumerationConformance() throws(SyntaxFault) -> String {
        try hasValues() ? caseConformance : try choiceConformance()
    }

    private func hasValues() throws(SyntaxFault) -> Bool {
        guard !declaration.cases.isEmpty else {
            throw SyntaxFault(message: "@Generable needs an enumeration with cases", offset: 0)
        }
        return declaration.cases.contains { !$0.parameters.isEmpty }
    }

    // MARK: - Without values

    /// The texts of the cases, as literals.
    private func texts() throws(SyntaxFault) -> [String] {
        var texts: [String] = []
        for one in declaration.cases {
            if let raw = one.rawValue, !declaration.inherited.contains("String") {
                throw SyntaxFault(
                    message: "raw values of @Generable are texts: “: String” instead of \(raw)",
                    offset: sourceText.offset(of: one.index))
            }
            texts.append(one.rawValue ?? one.name.withoutBackticks.swiftLiteral)
        }
        return texts
    }

    private func choiceMembers() throws(SyntaxFault) -> String {
        """
        \(access)typealias Partial = ChatterModels.WholeValue<Self>
        nonisolated \(access)static var schema: ChatterModels.Schema {
        ChatterModels.Schema.choice(\(name), description: \(description), of: [
        \(try texts().listLines)])
        }
        """
    }

    private func choiceConformance() throws(SyntaxFault) -> String {
        let cases = zip(try texts(), declaration.cases)
        return """
            \(access)init(from content: ChatterModels.StructuredContent) throws {
            switch content {
            \(cases.map { "case .string(\($0)): self = .\($1.name)\n" }.joined())\
            default: throw ChatterModels.SchemaViolation(path: "$", reason: "is not a case of \(declaration.name)")
            }
            }
            \(access)var generableContent: ChatterModels.StructuredContent {
            switch self {
            \(cases.map { "case .\($1.name): ChatterModels.StructuredContent.string(\($0))\n" }.joined())}
            }
            """
    }

    // MARK: - With values

    private var caseMembers: String {
        """
        nonisolated \(access)static var schema: ChatterModels.Schema {
        ChatterModels.Schema.anyOf(name: \(name), description: \(description), schemas: [
        \(declaration.cases.map(object).listLines)])
        }
        \(partialEnumeration)
        """
    }

    private var caseConformance: String {
        """
        \(access)init(from content: ChatterModels.StructuredContent) throws {
        switch content["type"] {
        \(declaration.cases.map { "case .string(\($0.text))?: self = .\($0.name)\($0.reading)\n" }.joined())\
        default: throw ChatterModels.SchemaViolation(path: "$.type", reason: "is not a case of \(declaration.name)")
        }
        }
        \(access)var generableContent: ChatterModels.StructuredContent {
        switch self {
        \(declaration.cases.map { "case .\($0.name)\($0.bindings):\n\(content(of: $0))\n" }.joined())}
        }
        """
    }

    /// The form of the object of a case.
    private func object(of one: TypeDeclaration.Case) -> String {
        let type = "ChatterModels.Schema.Property(\"type\", Swift.String.self, .constant(\(one.text)))"
        let properties = [type] + one.parameters.map { property($0.memberName, $0.type) }
        return
            "ChatterModels.Schema.object(name: \(one.text), description: nil, properties: [\n\(properties.listLines)])"
    }

    private func content(of one: TypeDeclaration.Case) -> String {
        let type = member("type", "ChatterModels.StructuredContent.string(\(one.text))")
        let members = one.parameters.enumerated().map {
            member($0.element.memberName, "value\($0.offset).generableContent")
        }
        return "ChatterModels.StructuredContent.object([\n\(([type] + members).listLines)])"
    }

    /// The case so far, as soon as its name is complete.
    private var partialEnumeration: String {
        let cases = declaration.cases.map { one in
            let parameters = one.parameters.map {
                ($0.label.map { $0 + ": " } ?? "") + "\($0.type.wrapped.text).Partial?"
            }
            return "case \(one.name)\(parameters.inParentheses)\n"
        }
        let branches = declaration.cases.map { one in
            let values = one.parameters.map {
                ($0.label.map { $0 + ": " } ?? "") + partialMember($0.memberName, $0.type)
            }
            return "case .string(\(one.text))?: self = .\(one.name)\(values.inParentheses)\n"
        }
        return """
            nonisolated \(access)enum Partial: ChatterModels.PartialValue {
            \(cases.joined())\
            \(access)init?(partial content: ChatterModels.StructuredContent) {
            switch content["type"] {
            \(branches.joined())\
            default: return nil
            }
            }
            }
            """
    }
}

extension TypeDeclaration.Case {
    /// The name as a literal.
    fileprivate var text: String { name.withoutBackticks.swiftLiteral }

    /// `(let value0, let value1)`.
    fileprivate var bindings: String { parameters.indices.map { "let value\($0)" }.inParentheses }

    /// The values of the case, read from JSON.
    fileprivate var reading: String {
        parameters.map {
            ($0.label.map { $0 + ": " } ?? "")
                + "try content.member(\($0.memberName.swiftLiteral))"
        }.inParentheses
    }
}

extension TypeDeclaration.Case.Parameter {
    /// The name in JSON.
    fileprivate var memberName: String { label?.withoutBackticks ?? "value" }
}

extension [String] {
    /// The elements with commas between them, in parentheses; an empty string for an empty list.
    fileprivate var inParentheses: String { isEmpty ? "" : "(\(joined(separator: ", ")))" }
}
