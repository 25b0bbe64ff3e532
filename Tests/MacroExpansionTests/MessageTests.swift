import ChatterdBasics
import Testing

@testable import ChatterdMacroExpansion

struct MessageTests {
    private func answer(_ message: String) -> String? {
        PluginConversation.response(to: Array(message.utf8)).map { $0.json.string }
    }

    private func request(
        _ macro: String, _ source: String, context: String = "[]", role: String = "extension"
    ) -> String {
        var buffer = ByteBuffer()
        buffer.append(jsonString: source)
        return """
            {"expandAttachedMacro":{"macro":{"moduleName":"M","name":"\(macro)","typeName":"\(macro)"},\
            "macroRole":"\(role)","discriminator":"$s","attributeSyntax":{"kind":"attribute","source":"@\(macro)",\
            "location":{"fileID":"a/b.swift","fileName":"b.swift","offset":80,"line":1,"column":1}},\
            "declSyntax":{"kind":"declaration","source":\(buffer.string),"location":{"fileID":"a/b.swift",\
            "fileName":"b.swift","offset":100,"line":2,"column":1}},"parentDeclSyntax":null,\
            "extendedTypeSyntax":{"kind":"type","source":"A.B","location":null},\
            "conformanceListSyntax":{"kind":"expression","source":"ChatterModels.Generable","location":null},\
            "lexicalContext":\(context),"staticBuildConfiguration":"{}"}}
            """
    }

    @Test func capabilityIsThatOfTheProtocol() {
        #expect(
            answer(#"{"getCapability":{"capability":{"protocolVersion":7}}}"#)
                == #"{"getCapabilityResult":{"capability":{"protocolVersion":7,"features":[]}}}"#)
    }

    @Test(arguments: [#"{"later":{}}"#, "{}", "no JSON", #"{"expandAttachedMacro":[]}"#])
    func unknownMessageHasNoAnswer(_ message: String) {
        #expect(answer(message) == nil)
    }

    @Test func otherRequestsAreDeclined() {
        #expect(
            answer(#"{"expandFreestandingMacro":{}}"#) == #"{"expandMacroResult":{"diagnostics":[]}}"#)
        #expect(
            answer(#"{"loadPluginLibrary":{"libraryPath":"a","moduleName":"b"}}"#)
                == #"{"loadPluginLibraryResult":{"loaded":false,"diagnostics":[]}}"#)
    }

    @Test func guideAddsNothing() {
        #expect(
            answer(request("Guide", "let a: Int"))
                == #"{"expandMacroResult":{"expandedSource":"","diagnostics":[]}}"#)
    }

    @Test func faultHasItsPlaceInTheFile() {
        #expect(
            answer(request("Generable", "class A {}"))
                == #"{"expandMacroResult":{"diagnostics":[{"message":"@Generable is for structures and enumerations; write a structure with what a model generates","severity":"error","position":{"fileName":"b.swift","offset":100},"highlights":[],"notes":[],"fixIts":[]}]}}"#
        )
        #expect(
            answer(request("Generable", "struct Größe {\n  let a: [Int: Int]\n}"))?.contains("\"offset\":123}") == true)
    }

    /// Members see the types beside a nested one; an initializer among them would take the place of the compiler's.
    @Test func typesOfPropertiesAreNamedByMembersOnly() throws {
        for source in ["struct B { let a: Kind }", "enum B { case a(Kind) }"] {
            let members = try #require(answer(request("Generable", source, role: "member")))
            let others = try #require(answer(request("Generable", source)))
            #expect(
                members.contains("Kind.self") && members.contains("Kind.Partial")
                    && members.contains("static var schema"))
            #expect(!members.contains("init(from") && !members.contains("extension"))
            #expect(others.contains("init(from") && !others.contains("Kind"))
        }
    }

    @Test func faultIsReportedOnce() {
        #expect(
            answer(request("Generable", "class A {}", role: "member"))
                == #"{"expandMacroResult":{"expandedSource":"","diagnostics":[]}}"#)
    }

    @Test func typeThatAnExtensionCannotReachIsRefused() {
        let inside = #"[{"kind":"declaration","source":"struct A {}"}]"#
        let deep =
            #"[{"kind":"declaration","source":"private struct A {}"},{"kind":"declaration","source":"enum C {}"}]"#
        let top = #"[{"kind":"declaration","source":"private struct A {}"}]"#
        #expect(answer(request("Generable", "private struct B {}", context: inside))?.contains("fileprivate") == true)
        #expect(answer(request("Generable", "struct B {}", context: deep))?.contains("fileprivate") == true)
        #expect(answer(request("Generable", "struct B {}", context: top))?.contains("fileprivate") == false)
        #expect(answer(request("Generable", "private struct B {}"))?.contains("fileprivate") == false)
    }

    @Test(arguments: [
        ("public struct B { let a: Int }", "[]", "public init"), ("struct B { let a: Int }", "[]", "\ninit"),
        ("package struct B { let a: Int }", "[]", "package init"),
        ("struct B { let a: Int }", #"[{"kind":"declaration","source":"public extension A {}"}]"#, "public init"),
        (
            "fileprivate struct B { let a: Int }", #"[{"kind":"declaration","source":"public extension A {}"}]"#,
            "\ninit"
        ),
        ("struct B { let a: Int }", #"[{"kind":"declaration","source":"public struct A {}"}]"#, "\ninit"),
    ]) func membersHaveTheAccessOfTheType(_ source: String, _ context: String, _ member: String) throws {
        guard
            case .expansion(let expansion?, [])? = PluginConversation.response(
                to: Array(request("Generable", source, context: context).utf8))
        else {
            Issue.record("no expansion")
            return
        }
        #expect(expansion.hasPrefix("nonisolated extension A.B: ChatterModels.Generable {\n"))
        #expect(expansion.contains(member + "(from content: ChatterModels.StructuredContent) throws {"))
    }
}
