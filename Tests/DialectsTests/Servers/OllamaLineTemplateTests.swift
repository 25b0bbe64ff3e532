import ChatterdBasics
import Testing

@testable import ChatterdChat
@testable import ChatterdDialects

@Suite(.timeLimit(.minutes(30))) struct OllamaLineTemplateTests {
    private static let example =
        #"{"model":"m","created_at":"2026-01-01T00:00:00.123Z","message":{"role":"assistant","content":"Hi"},"done":false}"#

    private func line(time: String = "2026-01-01T00:00:01Z", content: String, message: String? = nil) -> String {
        #"{"model":"m","created_at":"\#(time)","message":"#
            + (message ?? #"{"role":"assistant","content":"\#(content)"}"#) + #","done":false}"#
    }

    private func template(learning text: String = example) throws -> OllamaLineTemplate {
        let template = OllamaLineTemplate()
        let bytes = Array(text.utf8)
        template.learn(bytes.span, try AnswerLine(bytes.span))
        return template
    }

    private func read(_ text: String, by template: OllamaLineTemplate) -> AnswerLine? {
        read(Array(text.utf8), by: template)
    }

    private func read(_ line: [UInt8], by template: OllamaLineTemplate) -> AnswerLine? {
        let bytes = line + [UInt8(ascii: "\n")]
        var index = 0
        var tokens: [TokenLine] = []
        tokens.append(addingCapacity: LineRun.limit) {
            _ = template.read(bytes.span, from: &index, into: &$0, longestLine: 1 << 20)
        }
        guard let example = template.learned, !tokens.isEmpty, index == bytes.count else { return nil }
        return LineRun(bytes.span, tokens: tokens.span, like: example).fields(at: 0)
    }

    @Test(arguments: [
        "", "a", "Hello, world", #"a \"quoted\" word\n"#, "žluťoučký 😀", #"\\ and \/ and \t"#, #"\u003cb\u003e"#,
        #"\ud83d\ude00"#,
    ])
    func lineOfTheLearnedShapeIsReadLikeInFull(content: String) throws {
        let text = line(content: content)
        let bytes = Array(text.utf8)
        #expect(read(text, by: try template()) == (try AnswerLine(bytes.span)))
    }

    @Test(arguments: [
        #"\u0000"#, #"\ud800"#, #"\ud800\u0041"#, #"\udc00"#, #"\u00g0"#, #"\u12"#, #"\x"#, "\u{1}",
        #"a","thinking":"b"#, #"open\"#,
    ])
    func stringThatIsNotPlainIsNotMatched(content: String) throws {
        #expect(read(line(content: content), by: try template()) == nil || content.contains("thinking"))
    }

    @Test func lineWithOtherMembersIsNotMatched() throws {
        let template = try template()
        #expect(
            read(line(content: "", message: #"{"role":"assistant","content":"a","thinking":"b"}"#), by: template) == nil
        )
        #expect(read(Self.example.replacing("false", with: "true"), by: template) == nil)
        #expect(read(Self.example + " ", by: template) == nil)
        #expect(read(#"{"error":"x"}"#, by: template) == nil)
        #expect(read("", by: template) == nil)
    }

    @Test func partOfALineIsNotMatched() throws {
        let template = try template()
        for count in 0..<Self.example.utf8.count {
            #expect(read(String(Self.example.prefix(count)), by: template) == nil)
        }
    }

    @Test func invalidUTF8IsNotMatched() throws {
        var bytes = Array(line(content: "abc").utf8)
        let template = try template()
        for index in bytes.indices where bytes[index] == UInt8(ascii: "b") {
            bytes[index] = 0xFF
        }
        #expect(read(bytes, by: template) == nil)
    }

    @Test(arguments: [
        #"{"error":"x"}"#,
        #"{"model":"m","created_at":"t","message":{"role":"assistant","content":"a"},"done":true,"done_reason":"stop"}"#,
        #"{"model":"m","created_at":"t","message":{"role":"assistant","content":"a\u0000"},"done":false}"#,
        #"{"model":"m","message":{"role":"assistant","content":"a"},"done":false}"#,
        #"{"message":{"role":"assistant","content":"a"},"model":"m","created_at":"t","done":false}"#,
    ])
    func otherLinesAreNotLearned(text: String) throws {
        let template = try template(learning: text)
        #expect(read(text, by: template) == nil)
    }
}
