/// Writes what makes a type generable. Names of our own are qualified, because the file of the type may have others of the same name.
///
/// All that names the types of properties is written as members, where these names mean what they mean to the properties: an extension
/// stands at the top of the file, and does not see types beside a nested one. Initializers are written in the extension: as a member, one
/// would take the place of that of the compiler.
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

    /// The members of the type.
    ///
    /// - Throws: a fault of the declaration.
    func members() throws(SyntaxFault) -> String {
        switch declaration.kind {
        case .structure: structureMembers
        case .enumeration: try enumerationMembers()
        }
    }

    /// The extension.
    ///
    /// - Throws: a fault of the declaration.
    func source() throws(SyntaxFault) -> String {
        let conformance = request.needsConformance ? ": ChatterModels.Generable" : ""
        let members =
            switch declaration.kind {
            case .structure: structureConformance
            case .enumeration: try enumerationConformance()
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
