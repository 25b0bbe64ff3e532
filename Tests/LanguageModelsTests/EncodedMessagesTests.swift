import ChatterdBasics
import ChatterdLanguageModels
import Testing

@Suite(.timeLimit(.minutes(30))) struct EncodedMessagesTests {
    private func messages(_ list: [(role: String, seq: Int64, turn: Int64)]) -> EncodedMessages {
        var messages = EncodedMessages()
        for (index, item) in list.enumerated() {
            messages.append(
                ModelMessage(role: item.role, content: "\(index)"), seq: item.seq, turn: item.turn)
        }
        return messages
    }

    private func texts(_ messages: EncodedMessages) -> [String] {
        messages.entries.indices.map { index in
            let bytes = messages.bytes(of: index..<index + 1)
            return String(decoding: messages.json.array[bytes], as: UTF8.self)
        }
    }

    @Test func messagesHaveTheirOffsets() {
        let messages = messages([("system", 1, 0), ("user", 2, 3), ("assistant", 3, 3)])
        #expect(messages.count == 3 && messages.entries.map(\.seq) == [1, 2, 3])
        #expect(messages.entries.map(\.turn) == [0, 3, 3])
        #expect(messages.entries.map(\.role) == [.system, .user, .other])
        #expect(
            texts(messages) == [
                #"{"role":"system","content":"0"}"#, #"{"role":"user","content":"1"}"#,
                #"{"role":"assistant","content":"2"}"#,
            ])
        #expect(messages.bytes(of: 0..<3) == 0..<messages.json.count)
        #expect(messages.bytes(of: 2..<2).isEmpty)
    }

    @Test(arguments: [0..<0, 0..<1, 1..<3, 2..<4, 3..<4, 0..<4])
    func adjacentMessagesCanBeRemoved(_ range: Range<Int>) {
        let all = messages([("system", 1, 0), ("user", 2, 3), ("tool", 3, 3), ("user", 5, 6)])
        let rest = all.removing(range)
        var expected = texts(all)
        expected.removeSubrange(range)
        #expect(texts(rest) == expected)
        #expect(rest.json.string == expected.joined(separator: ","))
        var seqs = all.entries.map(\.seq)
        seqs.removeSubrange(range)
        #expect(rest.entries.map(\.seq) == seqs)
    }

    @Test func messagesAfterAMarkCanBeListedAndRemoved() {
        var messages = messages([("user", 1, 0)])
        let mark = messages.end
        messages.append(ModelMessage(role: "user", content: "a"), seq: 2)
        messages.append(ModelMessage(role: "user", content: "b"), seq: 3)
        messages.assign(turn: 4, since: mark)
        #expect(messages.entries.map(\.turn) == [0, 4, 4])
        #expect(messages.entries(since: mark).map(\.seq) == [2, 3])
        messages.truncate(to: mark)
        #expect(messages.count == 1 && messages.json.string == #"{"role":"user","content":"0"}"#)
    }

    @Test(arguments: [
        ("system", MessageRole.system), ("developer", .system), ("user", .user), ("tool", .tool), ("assistant", .other),
        ("", .other), ("users", .other), ("usex", .other), ("systen", .other), ("developed", .other),
    ])
    func rolesMatchExactly(_ role: String, _ expected: MessageRole) {
        #expect(MessageRole(Array(role.utf8).span) == expected)
    }

    @Test func messagesWithExtrasAreMarked() {
        var messages = EncodedMessages()
        messages.append(ModelMessage(role: "user", content: "", extras: #""images":["QQ=="]"#))
        messages.append(ModelMessage(role: "user", content: "x"))
        #expect(messages.entries.map(\.hasExtras) == [true, false])
    }
}

@Suite(.timeLimit(.minutes(30))) struct RequestOptionTests {
    private func option(_ options: String) -> Int? {
        [RawMember(key: "options", value: Array(options.utf8))].generationOption("num_ctx")
    }

    @Test(arguments: [
        (#"{"num_ctx":4096}"#, 4096), (#" { "top_k" : [1, {"num_ctx":1}] , "num_ctx" : 8192 } "#, 8192),
        (#"{"num_ctx":1,"num_ctx":2}"#, 2), (#"{"num_\u0063tx":7}"#, 7), (#"{"num_ctx":-1}"#, -1),
    ])
    func numbersAreRead(_ options: String, _ expected: Int) {
        #expect(option(options) == expected)
    }

    @Test(arguments: [
        "{}", "null", "[]", "7", #"{"num_ctx":"4096"}"#, #"{"num_ctx":4096.5}"#, #"{"num_ctx":null}"#,
        #"{"num_ctx":99999999999999999999}"#, #"{"num_ctx":4096"#, #"{"num_predict":3}"#,
    ])
    func valueThatIsNoNumberIsNil(_ options: String) {
        #expect(option(options) == nil)
    }

    @Test func membersOfTheRequestItselfAreReadToo() {
        let members = [
            RawMember(key: "max_tokens", value: Array("5".utf8)), RawMember(key: "top_p", value: Array("true".utf8)),
        ]
        #expect(members.number("max_tokens") == 5)
        #expect(members.number("top_p") == nil && members.number("n") == nil)
        #expect(members.generationOption("num_ctx") == nil)
    }
}
