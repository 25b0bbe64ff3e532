/// Writes the extension that makes a type generable. All names are qualified, because the file of the type may have others of the same
/// name.
struct ExtensionWriter {
    private let request: ExpansionRequest
    let declaration: TypeDeclaration
    let sourceText: SourceText
    /// `public ` or nothing.
    let access: String

    init(_ request: ExpansionRequest, _ declaration: TypeDeclaration, _ source: SourceText) {
        self.request = request
        self.declaration = declaration
        sourceText = source
        access = Self.access(of: declaration, in: request.context).map { $0 + " " } ?? ""
    }

    /// The access of the members: that of the type, which may be that of the extension around it.
    private static func access(of declaration: TypeDeclaration, in context: [String]) -> String? {
        guard declaration.access == nil, declaration.hasDefaultAccess, let around = context.first else {
            return declaration.access
        }
        let source = SourceText(around)
        var index = 0
        let lead = Lead(source, &index)
        return source[index] == "extension" ? lead.modifiers.first { $0 == "public" || $0 == "package" } : nil
    }

    func source() throws(SyntaxFault) -> String {
        let conformance = request.needsConformance ? ": ChatterModels.Generable" : ""
        let members =
            switch declaration.kind {
            case .structure: structureMembers
            case .enumeration: try enumerationMembers()
            }
        return """
            nonisolated extension \(request.extendedType)\(conformance) {
            \(members)
            }
            """
    }

    /// The expression for the description of the type.
    var description: String {
        guard let text = request.attribute?.source else { return "nil" }
        let source = SourceText(text)
        var index = 0
        return Attribute(source, &index).description(in: source) ?? "nil"
    }

    var name: String { declaration.name.withoutBackticks.swiftLiteral }

    /// The expression for a member of an object's form.
    func property(_ name: String, _ type: TypeSyntax, _ guide: Attribute? = nil) -> String {
        let description = guide?.description(in: sourceText).map { ", description: \($0)" } ?? ""
        let conditions = (guide?.conditions ?? []).map { ", \(sourceText[$0.value])" }.joined()
        return "ChatterModels.Schema.Property(\(name.swiftLiteral), \(type.metatype)\(description)\(conditions))"
    }

    /// The expression for the partial value of a member.
    func partialMember(_ name: String, _ type: TypeSyntax) -> String {
        "content[\(name.swiftLiteral)].flatMap { \(type.wrapped.text).Partial(partial: $0) }"
    }

    /// The expression for a member of JSON.
    func member(_ name: String, _ value: String) -> String {
        "ChatterModels.StructuredContent.Member(\(name.swiftLiteral), \(value))"
    }
}

extension [String] {
    /// The lines of a list, each with a comma.
    var listLines: String { map { $0 + ",\n" }.joined() }
}
