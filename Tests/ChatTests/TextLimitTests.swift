import ChatterdBasics
import Testing

@testable import ChatterdChat

/// Limits of what is compared, sorted or read several times.
@Suite struct TextLimitTests {
    @Test func optionsHaveAtMostTheirMembers() throws {
        func check(_ count: Int) throws {
            let members = (0..<count).map { "\"o\($0)\":1" }.joined(separator: ",")
            try ChatRequest.checkNames(of: [RawMember(key: "options", value: Array("{\(members)}".utf8))])
        }
        try check(ChatRequest.maximumOptions)
        let error = #expect(throws: ChatRequestError.self) { try check(ChatRequest.maximumOptions + 1) }
        #expect(error?.problem == .tooMany && error?.field == "options")
    }

    @Test func optionsHaveAtMostTheirSize() throws {
        func check(_ size: Int) throws {
            let text = String(repeating: "x", count: size - "{\"g\":\"\"}".utf8.count)
            try ChatRequest.checkNames(of: [RawMember(key: "options", value: Array("{\"g\":\"\(text)\"}".utf8))])
        }
        try check(ChatRequest.maximumOptionsSize)
        let error = #expect(throws: ChatRequestError.self) { try check(ChatRequest.maximumOptionsSize + 1) }
        #expect(error?.problem == .tooLong && error?.field == "options")
    }

    @Test func titleFromAMessageHasALimitWhateverItsCharacters() {
        let marks = String(repeating: "\u{301}", count: 10_000)
        #expect(ConversationTitle.opening(of: "a\(marks) b")?.unicodeScalars.count == ConversationTitle.maximumLength)
        #expect(ConversationTitle.opening(of: " A  week\nin Rome ") == "A week in Rome")
        #expect(ConversationTitle.opening(of: " \n") == nil)
    }

    @Test(arguments: [
        ("llama3.2:latest", true), ("modèle", true), ("mode\u{301}le", true), ("", false), ("a\nb", false),
        ("a" + String(repeating: "\u{301}", count: 8), true), ("a" + String(repeating: "\u{301}", count: 9), false),
    ])
    func nameInAListHasFewMarksInARow(_ name: String, isListable: Bool) {
        #expect(ModelName.isListable(name) == isListable)
    }
}
