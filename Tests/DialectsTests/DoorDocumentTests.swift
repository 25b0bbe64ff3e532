import ChatterdChat
import ChatterdHTTP
import ChatterdRelay
import Foundation
import Testing

@testable import ChatterdDialects

/// docs/doors.md against the tables of the doors.
struct DoorDocumentTests {
    private let text: String

    init() throws {
        let root = String(#filePath.prefix(upTo: try #require(#filePath.firstRange(of: "/Tests/")).lowerBound))
        text = try String(contentsOfFile: root + "/docs/doors.md", encoding: .utf8)
    }

    /// The endpoints that ask a model.
    private static var translators: [(heading: String, translator: any ChatTranslator)] {
        Door.allCases.flatMap(\.dialect.endpoints).compactMap { endpoint in
            guard case .ask(let translator) = endpoint.operation else { return nil }
            return ("\(endpoint.method.name) \(endpoint.path)", translator)
        }
    }

    /// The endpoints whose requests are passed on in the form of the model server.
    private static var passes: [(heading: String, translator: any PassTranslator)] {
        Door.allCases.flatMap(\.dialect.endpoints).compactMap { endpoint in
            guard case .translate(let translator) = endpoint.operation else { return nil }
            return ("\(endpoint.method.name) \(endpoint.path)", translator)
        }
    }

    @Test func everyMemberHasItsRow() throws {
        #expect(Self.translators.count > 3 && Self.passes.count > 1)
        let tables = Self.translators.map { ($0.heading, $0.translator.fields) }
        for (heading, fields) in tables + Self.passes.map({ ($0.heading, $0.translator.fields) }) {
            let start = try #require(text.firstRange(of: "\n### `\(heading)`\n")).upperBound
            let end = text[start...].firstRange(of: "\n### ")?.lowerBound ?? text.endIndex
            let rows = text[start..<end].split(separator: "\n").filter { $0.hasPrefix("| `") }.map(String.init)
            #expect(rows == fields.map { "| `\($0.name)` | \($0.summary) |" }, "\(heading)")
        }
    }

    @Test func everyPathIsListed() {
        for endpoint in Door.allCases.flatMap(\.dialect.endpoints) {
            #expect(text.contains("`\(endpoint.method.name) \(endpoint.path)`"), "\(endpoint.path)")
        }
    }

    @Test func membersForAnOllamaAreTreatedAsTheTableSays() throws {
        for (heading, translator) in Self.passes {
            for field in translator.fields {
                func body(_ value: String) throws -> String {
                    let body = #"{"input":"a","prompt":"a","\#(field.name)":\#(value)}"#
                    return String(decoding: try translator.ollamaBody(of: Array(body.utf8), asking: "u"), as: UTF8.self)
                }
                switch field.treatment {
                case .passed: #expect(try body("7").contains(#""\#(field.name)":7"#), "\(heading) \(field.name)")
                case .option(let name):
                    #expect(try body("7").contains(#""options":{"\#(name)":7}"#), "\(heading) \(field.name)")
                case .ignored: #expect(try !body("7").contains(field.name), "\(heading) \(field.name)")
                case .refused(let reason):
                    for value in field.harmless + ["null"] {
                        #expect(throws: Never.self, "\(heading) \(field.name)") { try body(value) }
                    }
                    let fault = #expect(throws: RelayError.self) { try body(#"{"x":7}"#) }
                    #expect(fault?.parameter == field.name && fault?.message.hasSuffix(reason) == true)
                case .translated: break
                }
            }
        }
    }

    @Test func membersAreTreatedAsTheTableSays() throws {
        for (heading, translator) in Self.translators {
            let prompt = #""max_tokens":1,"messages":[{"role":"user","content":"a"}]"#
            // Members of the other endpoints would be unknown to this one.
            let names = translator.fields.map(\.name)
            let needed =
                names.contains("input") ? #""input":"a""# : names.contains("messages") ? prompt : #""prompt":"a""#
            for field in translator.fields {
                func request(_ value: String) throws -> DoorRequest {
                    try translator.request(Array("{\(needed),\"\(field.name)\":\(value)}".utf8))
                }
                switch field.treatment {
                case .passed:
                    let value = field.name == "options" ? #"{"x":7}"# : "7"
                    let passed = try request(value).chat.passThrough
                    #expect(
                        passed.contains { $0.key == field.name && $0.value == Array(value.utf8) },
                        "\(heading) \(field.name)")
                case .option(let name):
                    let options = try request("7").chat.passThrough.first { $0.key == "options" }
                    let found = options.map { String(decoding: $0.value, as: UTF8.self).contains("\"\(name)\":7") }
                    #expect(found == true, "\(heading) \(field.name)")
                case .ignored(let reason):
                    for value in field.harmless + ["null"] {
                        #expect(try request(value).ignored.paths.isEmpty, "\(heading) \(field.name)")
                    }
                    let asked = try request(#"{"x":7}"#)
                    #expect(asked.ignored.paths == [field.name], "\(heading)")
                    #expect(!asked.chat.passThrough.contains { $0.key == field.name }, "\(heading) \(field.name)")
                    let fault = #expect(throws: RelayError.self) {
                        try translator.request(Array("{\(needed),\"\(field.name)\":{\"x\":7}}".utf8), .strict)
                    }
                    #expect(fault?.parameter == field.name && fault?.message.hasSuffix(reason) == true)
                case .refused(let reason):
                    for value in field.harmless + ["null"] {
                        #expect(throws: Never.self, "\(heading) \(field.name)") { try request(value) }
                    }
                    let fault = #expect(throws: RelayError.self) { try request(#"{"x":7}"#) }
                    #expect(fault?.parameter == field.name && fault?.message.hasSuffix(reason) == true)
                case .translated:
                    // The tests of the dialect cover the translations. A translated member must not also pass under its own name.
                    let before = try translator.request(Array("{\(needed)}".utf8))
                    #expect(!before.chat.passThrough.contains { $0.key == field.name }, "\(heading) \(field.name)")
                }
            }
        }
    }
}
