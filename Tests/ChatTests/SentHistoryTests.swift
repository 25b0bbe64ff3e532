import ChatterdIdentity
import Testing

@testable import ChatterdChat

/// The places of a client's history at which a stored turn may end.
struct SentHistoryTests {
    private let owner = Owner(app: "shop")

    private func messages(_ roles: String) -> [ModelMessage] {
        let names: [Character: String] = ["s": "system", "d": "developer", "u": "user", "a": "assistant", "t": "tool"]
        return roles.enumerated().map { ModelMessage(role: names[$1] ?? "", content: "\($0)") }
    }

    @Test(
        arguments: [
            ("u", 0, []), ("uau", 0, [2]), ("uauau", 0, [4, 2]), ("uata", 0, [2]), ("uaau", 0, [3, 2]), ("ua", 0, []),
            ("su", 1, []), ("sduau", 2, [4]), ("usau", 0, [3]), ("s", nil, []), ("au", 0, [1]), ("", nil, []),
        ] as [(String, Int?, [Int])])
    func turnEndsBehindAnAnswerThatOthersFollow(_ roles: String, _ instructions: Int?, _ ends: [Int]) {
        let sent = SentHistory(messages(roles), of: owner)
        #expect(sent.instructions == instructions)
        #expect(sent.ends.map(\.count) == ends)
    }

    @Test func endIsTheHistoryWithTheAnswerToIt() throws {
        let all = messages("uauau")
        let sent = SentHistory(all, of: owner)
        for end in sent.ends {
            let before = SentHistory(Array(all.prefix(end.count - 1)), of: owner)
            #expect(before.digest.followed(by: all[end.count - 1]) == end.digest)
        }
    }

    @Test(arguments: [("u", ""), ("su", "0"), ("ssu", "0\n\n1"), ("us", ""), ("s", nil)] as [(String, String?)])
    func requestKeepsItsHistoryAndItsTextsOfTheSystem(_ roles: String, _ system: String?) {
        let all = messages(roles)
        let sent = SentHistory(all, of: owner)
        let members = sent.members(of: all)
        #expect(members.history == sent.digest)
        #expect(members.replacesSystem == (system != nil))
        #expect(members.instructions == (system == "" ? nil : system))
        #expect(members.withoutKept.isEmpty)
    }

    @Test func messagesOfTheSystemBeforeAllOthersDoNotCount() {
        let all = messages("uau")
        let system = ModelMessage(role: "system", content: "It is 10:15.")
        #expect(SentHistory(all, of: owner).digest == SentHistory([system] + all, of: owner).digest)
        #expect(SentHistory(all, of: owner).digest != SentHistory([all[0], system] + all[1...], of: owner).digest)
    }

    @Test func messagesOfTheSystemWithMoreThanTextCount() {
        let all = messages("suau")
        let image = ModelMessage(role: "system", content: "s", extras: #""images":["AAAA"]"#)
        let sent = SentHistory([image] + all, of: owner)
        #expect(sent.instructions == nil)
        #expect(sent.digest != SentHistory(all, of: owner).digest)
    }

    @Test func onlyTheLastAnswersAreLookedUp() {
        let all = messages(String(repeating: "ua", count: SentHistory.maximumEnds + 9) + "u")
        let sent = SentHistory(all, of: owner)
        #expect(sent.ends.count == SentHistory.maximumEnds)
        #expect(sent.ends.first?.count == all.count - 1)
    }
}
