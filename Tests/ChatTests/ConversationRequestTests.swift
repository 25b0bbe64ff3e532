import ChatterdChat
import Testing

/// The bodies of requests about conversations.
@Suite(.timeLimit(.minutes(30))) struct ConversationRequestTests {
    private func creation(_ json: String) throws -> ConversationCreation {
        let body = Array(json.utf8)
        return try ConversationCreation(decoding: body.span)
    }

    private func change(_ json: String) throws -> ConversationChange {
        let body = Array(json.utf8)
        return try ConversationChange(decoding: body.span)
    }

    @Test(arguments: ["", "{}", #"{"conversation":null,"title":null,"messages":null}"#])
    func allMembersOfACreationAreOptional(_ json: String) throws {
        let creation = try creation(json)
        #expect(creation.name == nil && creation.title == nil && creation.messages.isEmpty)
    }

    @Test func membersOfACreationAreDecoded() throws {
        let creation = try creation(
            #"{"c\u006fnversation":"trip","title":"a","title":"Rome","messages":[{"role":"system","content":"s"}]}"#)
        #expect(creation.name == "trip" && creation.title == "Rome")
        #expect(creation.messages == [ModelMessage(role: "system", content: "s")])
    }

    @Test func changeOfATitleIsDecoded() throws {
        #expect(try change(#"{"title":"Rome"}"#).title == .set("Rome"))
        #expect(try change(#"{"title":null}"#).title == .removed)
        let archived = try change(#"{"archived":true,"title":"x","title":null}"#)
        #expect(archived.title == .removed && archived.isArchived == true)
        #expect(try change(#"{"archived":false}"#).title == .unchanged)
    }

    @Test func changeWithoutAMemberIsRefused() {
        for json in ["{}", #"{"archived":null}"#] {
            #expect(throws: ChatRequestError.self) { try change(json) }
        }
    }

    @Test func titleHasItsLimit() throws {
        let longest = String(repeating: "\u{1f600}", count: 200)
        #expect(try change("{\"title\":\"\(longest)\"}").title == .set(longest))
        for title in [longest + "a", "", "a\\u0007b", "a\\u0085b", "\\ud800"] {
            #expect(throws: ChatRequestError.self) { try change("{\"title\":\"\(title)\"}") }
            #expect(throws: ChatRequestError.self) { try creation("{\"title\":\"\(title)\"}") }
        }
    }

    @Test(arguments: [
        ("titel", "title"), ("archive", "archived"), ("Title", "title"),
        (String(repeating: "x", count: 10_000), "title"),
    ])
    func unknownMemberIsRefusedWithTheNearestName(name: String, nearest: String) throws {
        let error = #expect(throws: ChatRequestError.self) { try change("{\"title\":\"x\",\"\(name)\":1}") }
        #expect(error?.problem == .unknownMember)
        #expect(error?.message == "The body may have title, archived only. Did you mean \(nearest)?")
    }

    @Test(arguments: [
        ("Hello", "Hello"), (" What  is\n\tit? ", "What is it?"), ("", nil), (" \n\u{2003}", nil),
        (String(repeating: "a", count: 81), String(repeating: "a", count: 80)),
        (String(repeating: "word ", count: 17), String(String(repeating: "word ", count: 16).dropLast())),
        (String(repeating: "a", count: 79) + " b", String(repeating: "a", count: 79)),
        (String(repeating: "a", count: 78) + " b", String(repeating: "a", count: 78) + " b"),
    ])
    func openingEndsBetweenWords(message: String, title: String?) {
        #expect(ConversationTitle.opening(of: message) == title)
    }
}
