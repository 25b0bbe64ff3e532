/// What a macro adds to a declaration.
struct Expansion {
    let response: PluginResponse

    init(_ request: ExpansionRequest) {
        guard request.macro == "Generable", let fragment = request.declaration else {
            // `@Guide` is read with the type.
            response = .expansion("", [])
            return
        }
        do throws(SyntaxFault) {
            let (declaration, source) = try DeclarationReader.read(fragment.source)
            let writer = ExtensionWriter(request, declaration, source)
            let faults =
                declaration.faults + Self.faults(of: declaration, in: request.context)
                + GuideCheck.faults(of: declaration, in: source)
            guard faults.isEmpty else {
                response = Self.failure(faults, request, fragment)
                return
            }
            response = .expansion(request.role == "member" ? try writer.members() : try writer.source(), [])
        } catch {
            response = Self.failure([error], request, fragment)
        }
    }

    /// Faults are reported once, with the extension.
    private static func failure(
        _ faults: [SyntaxFault], _ request: ExpansionRequest, _ fragment: SourceFragment
    ) -> PluginResponse {
        request.role == "member" ? .expansion("", []) : .expansion(nil, faults.map { Diagnostic($0, in: fragment) })
    }

    /// An extension stands at the top of the file, where a private type inside another one is hidden.
    private static func faults(of declaration: TypeDeclaration, in context: [String]) -> [SyntaxFault] {
        func isPrivate(_ text: String) -> Bool {
            var index = 0
            return Lead(SourceText(text), &index).modifiers.contains("private")
        }
        // At the top of the file, `private` is `fileprivate`.
        let isHidden = declaration.isPrivate && !context.isEmpty || context.dropLast().contains(where: isPrivate)
        guard isHidden else { return [] }
        return [
            SyntaxFault(
                message: "@Generable adds an extension, for which “private” hides the type; write “fileprivate”",
                offset: 0)
        ]
    }
}

/// A message of the compiler at a place of a source file.
struct Diagnostic: Equatable {
    let message: String
    let fileName: String
    /// The byte of the file.
    let offset: Int

    /// - Parameter fragment: the source in which the fault is.
    init(_ fault: SyntaxFault, in fragment: SourceFragment) {
        message = fault.message
        fileName = fragment.fileName
        offset = fragment.offset + fault.offset
    }
}
