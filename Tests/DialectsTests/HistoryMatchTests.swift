import ChatterdChat
import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdDialects

/// The messages of clients that send their whole history, in the history of a conversation.
struct HistoryMatchTests {
    private func id(_ number: Int) -> ReplyID { ReplyID(high: UInt64(number), low: 0) }

    /// A history: `s` system, `u` user, `a` reply, `t` result of a tool, each with a text; a capital `S` is seeded.
    private func history(_ words: String) -> [StoredMessage] {
        words.split(separator: " ").enumerated().map { index, word in
            let place: StoredMessage.Place =
                word.hasPrefix("S") ? .seeded : word.hasPrefix("a") ? .reply(id(index)) : .prompt
            return StoredMessage(message(word), place)
        }
    }

    private func message(_ word: Substring) -> ModelMessage {
        let role =
            switch word.first {
            case "s", "S": "system"
            case "u": "user"
            case "a": "assistant"
            default: "tool"
            }
        return ModelMessage(role: role, content: String(word.dropFirst()))
    }

    private func match(_ request: String, in stored: String) -> HistoryMatch? {
        HistoryMatch(of: request.split(separator: " ").map(message), in: history(stored))
    }

    @Test(arguments: [
        ("u1", "", 0), ("u1 a2 u3", "u1 a2", 2), ("s0 u1 a2 u3", "s0 u1 a2", 3), ("S0 u1", "S0", 1),
        ("u1 a2 t3 u4", "u1 a2", 2),
    ])
    func newMessagesFollowTheLastReply(_ request: String, _ stored: String, _ firstNew: Int) {
        let found = match(request, in: stored)
        let replies = stored.split(separator: " ").enumerated().filter { $0.element.hasPrefix("a") }
        let parent: HistoryMatch.Parent = replies.last.map { .reply(id($0.offset)) } ?? .start
        #expect(found?.firstNew == firstNew && found?.parent == parent)
    }

    @Test(arguments: [
        // Edited, regenerated, and a prompt without its answer.
        ("u1 a2 ux", "u1 a2 u3 a4", 2, 1), ("u1 a2 u3", "u1 a2 u3 a4", 2, 1), ("u1 a2 u3 ax u5", "u1 a2 u3 a4", 2, 1),
        // The branch begins at the last turn that is the same.
        ("u1 a2 u3 a4 ux", "u1 a2 u3 a4 u1 a2", 4, 3), ("s0 u1 a2 u3 a4 ux", "s0 u1 a2 u3 a4 u5 a6", 5, 4),
        ("u1 t2 a3 ux", "u1 t2 a3 u4 a5", 3, 2),
    ])
    func otherTextBeginsABranch(_ request: String, _ stored: String, _ firstNew: Int, _ reply: Int) {
        let found = match(request, in: stored)
        #expect(found?.firstNew == firstNew && found?.parent == .reply(id(reply)))
    }

    @Test(arguments: [
        ("ux", "u1 a2"), ("sx u1 a2 u3", "s0 u1 a2"), ("u1", "u1 a2"), ("ux a2 u3", "u1 a2"), ("u1 a2", "u1 a2"),
        // Without its oldest turns, a history may be that of another chat.
        ("u3 a4 u5", "u1 a2 u3 a4"), ("s0 u3 a4 u5", "s0 u1 a2 u3 a4"), ("u3 a4 u5", "s0 u1 a2 u3 a4"),
        ("u1 a1 ux", "u9 a9 u1 a1"),
    ])
    func otherBeginningBeginsABranchBeforeAllTurns(_ request: String, _ stored: String) {
        let found = match(request, in: stored)
        #expect(found?.firstNew == 0 && found?.parent == .start)
    }

    @Test(arguments: [
        ("u1", "u1 a2", 1), ("u1 a2 u3", "u1 a2 u3 a4", 3), ("u1", "u1 a2 u3 a4", 1), ("S0 u1", "S0 u1 a2", 2),
        ("u1 a2 t3 u4", "u1 a2 t3 u4 a5", 4),
    ])
    func promptThatEndsTheSameHistoryIsRepeated(_ request: String, _ stored: String, _ reply: Int) {
        #expect(match(request, in: stored)?.repeated == id(reply))
    }

    @Test(arguments: [
        ("ux", "u1 a2"), ("u1 a2", "u1 a2"), ("u1 a2 ux", "u1 a2 u3 a4"), ("u1 t2", "u1 t2 u3 a4"),
        ("u3", "u1 a2 u3 a4"),
        ("u1 a2 u3", "u1 a2"),
    ])
    func otherRequestRepeatsNoPrompt(_ request: String, _ stored: String) {
        #expect(match(request, in: stored)?.repeated == nil)
    }

    @Test func branchCannotReplaceSeededMessages() {
        #expect(match("Sx u1", in: "S0 u1 a2") == nil)
        #expect(match("S0 ux", in: "S0 u1 a2")?.parent == .start)
        #expect(match("S0 ux", in: "S0 u1 a2")?.firstNew == 1)
    }

    /// The picture may be that of another chat.
    @Test func messageWithoutItsPictureIsAnotherOne() {
        func picture(_ data: String) -> ModelMessage {
            ModelMessage(role: "user", content: "u", extras: "\"images\":[\"\(data)\"]")
        }
        let (plain, answer) = (message("uu"), message("a"))
        let request = [picture("AAAA"), answer, plain, answer, plain, answer, message("ux")]
        let stored = [picture("AAAA"), answer, plain, answer, picture("BBBB"), answer, plain, answer]
            .enumerated().map { StoredMessage($1, $0 % 2 == 1 ? .reply(id($0)) : .prompt) }
        #expect(HistoryMatch(of: request, in: stored)?.parent == .reply(id(3)))
        #expect(HistoryMatch(of: [message("uu")], in: Array(stored.prefix(2)))?.repeated == nil)
        #expect(HistoryMatch(of: [], in: stored) == nil)
    }

    @Test func messagesAreComparedByWhatClientsKeep() {
        func call(_ id: String, _ arguments: String, thinking: String = "") -> ModelMessage {
            ModelMessage(
                role: "assistant", content: "",
                extras: thinking + #""tool_calls":[{"id":"\#(id)","function":{"name":"f","arguments":\#(arguments)}}]"#)
        }
        let stored = [
            StoredMessage(ModelMessage(role: "user", content: "Hi \n", extras: #""images":["AAAA"]"#), .prompt),
            StoredMessage(call("c1", #"{"a":1,"b":[1.0,"\u00e9"]}"#, thinking: #""thinking":"hm","#), .reply(id(1))),
        ]
        func firstNew(_ user: ModelMessage, _ assistant: ModelMessage) -> Int? {
            HistoryMatch(of: [user, assistant, ModelMessage(role: "tool", content: "9")], in: stored)?.firstNew
        }
        let user = ModelMessage(role: "user", content: " Hi", extras: #""images":["AAAA"]"#)
        let image = ModelMessage(role: "user", content: "Hi", extras: #""images":["BBBB"]"#)
        #expect(firstNew(user, call("x", #"{ "b":[1,"é"],"a":1e0 }"#)) == 2)
        #expect(firstNew(user, call("c1", #"{"a":2,"b":[1,"é"]}"#)) == 0)
        #expect(firstNew(user, ModelMessage(role: "assistant", content: "")) == 0)
        #expect(firstNew(image, call("c1", #"{"a":1,"b":[1,"é"]}"#)) == 0)
    }
}
