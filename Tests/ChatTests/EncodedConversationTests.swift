import ChatterdBasics
import ChatterdChat
import ChatterdTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct EncodedConversationTests {
    private func messages(_ list: [(role: String, seq: Int64, turn: Int64)]) -> EncodedConversation {
        var messages = EncodedConversation()
        for (index, item) in list.enumerated() {
            messages.append(
                ModelMessage(role: item.role, content: "\(index)"), seq: item.seq, turn: item.turn)
        }
        return messages
    }

    private func texts(_ messages: EncodedConversation) -> [String] {
        (0..<messages.count).map { messages.messages($0..<$0 + 1).json.string }
    }

    /// A conversation of some runs, with messages of random sizes.
    private func longConversation(_ count: Int, _ random: inout SeededGenerator) -> EncodedConversation {
        var messages = EncodedConversation()
        for index in 0..<count {
            let text = String(repeating: "x", count: Int.random(in: 0...40_000, using: &random))
            let images = index % 7 == 0 ? "\"images\":[\"\(String(repeating: "A", count: 3_000))\"]" : nil
            messages.append(
                ModelMessage(role: "user", content: "\(index) \(text)", extras: images), seq: Int64(index + 1),
                turn: Int64(index))
        }
        return messages
    }

    @Test func messagesOfTheSystemBecomeOne() {
        let own = EncodedConversation(instructions: "Be \"polite\".\n")
        let others = messages([("system", 1, 0), ("system", 2, 0)])
        #expect(
            own.joined(with: others).map(texts)
                == [#"{"role":"system","content":"Be \"polite\".\n\n\n0\n\n1"}"#])
        #expect(own.joined(with: EncodedConversation()) == nil)
        var picture = others
        picture.append(ModelMessage(role: "system", content: "x", extras: #""images":["AAAA"]"#))
        #expect(own.joined(with: picture) == nil)
        let long = String(repeating: "x", count: EncodedConversation.longestJoin)
        #expect(own.joined(with: EncodedConversation(instructions: long)) == nil)
    }

    @Test func messagesHaveTheirProperties() {
        let messages = messages([("system", 1, 0), ("user", 2, 3), ("assistant", 3, 3)])
        #expect(messages.count == 3 && messages.entries.map(\.seq) == [1, 2, 3])
        #expect(messages.entries.map(\.turn) == [0, 3, 3])
        #expect(messages.entries.map(\.role) == [.system, .user, .other])
        #expect(
            texts(messages) == [
                #"{"role":"system","content":"0"}"#, #"{"role":"user","content":"1"}"#,
                #"{"role":"assistant","content":"2"}"#,
            ])
        #expect(
            messages.byteCount == messages.json.count
                && messages.byteCount(at: 1) == #"{"role":"user","content":"1"}"#.utf8.count)
        #expect(messages.messages(2..<2).isEmpty && EncodedConversation().json.isEmpty)
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

    /// Parts, and conversations of parts, have the text, the sizes and the numbers of their messages.
    @Test(arguments: 1...10) func partsHaveTheirMessages(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let all = longConversation(40, &random)
        let texts = texts(all)
        let low = Int.random(in: 0...40, using: &random)
        let high = Int.random(in: low...40, using: &random)
        for (part, expected) in [
            (all.messages(low..<high), Array(texts[low..<high])),
            (all.removing(low..<high), Array(texts[..<low] + texts[high...])),
        ] {
            #expect(part.json.string == expected.joined(separator: ","))
            #expect(part.byteCount == part.json.count && part.count == expected.count)
            let totals = part.totals
            #expect(totals.bytes == expected.reduce(0) { $0 + $1.utf8.count })
            #expect(totals.images == part.entries.count { $0.images == 1 })
            #expect(totals.imageBytes == part.entries.reduce(0) { $0 + $1.imageBytes })
            #expect(part.numbers.flatMap { Array($0) } == part.entries.map(\.seq))
            var runs: [String] = []
            part.forEachRun { runs.append(String(decoding: $0.array, as: UTF8.self)) }
            #expect(runs.joined(separator: ",") == part.json.string)
        }
    }

    /// A conversation that shares the runs of another one does not change when the other one grows.
    @Test(arguments: 1...5) func copiesDoNotChange(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var grown = longConversation(20, &random)
        let copy = grown
        let beginning = grown.messages(0..<19)
        let text = grown.json.string
        var other = beginning
        grown.append(ModelMessage(role: "user", content: "one"), seq: 21)
        other.append(ModelMessage(role: "user", content: "two"), seq: 20)
        #expect(copy.json.string == text && copy.count == 20)
        #expect(grown.json.string == text + #",{"role":"user","content":"one"}"# && grown[20].seq == 21)
        #expect(other.json.string == beginning.json.string + #",{"role":"user","content":"two"}"# && other.count == 20)
        #expect(other.numbers == [1...20] && grown.numbers == [1...21])
    }

    @Test func numbersOfAdjacentRunsAreOneRange() {
        var random = SeededGenerator(seed: 1)
        let all = longConversation(40, &random)
        #expect(all.parts.count > 1 && all.numbers == [1...40])
        #expect(all.removing(3..<5).numbers == [1...3, 6...40])
    }

    @Test(arguments: [
        ("system", MessageRole.system), ("developer", .system), ("user", .user), ("tool", .tool), ("assistant", .other),
        ("", .other), ("users", .other), ("usex", .other), ("systen", .other), ("developed", .other),
    ])
    func rolesMatchExactly(_ role: String, _ expected: MessageRole) {
        #expect(MessageRole(Array(role.utf8).span) == expected)
    }

    @Test func picturesAreCounted() {
        let picture = String(repeating: "A", count: 3_000)
        var messages = EncodedConversation()
        messages.append(ModelMessage(role: "user", content: "", extras: #""images":["QQ=="]"#))
        messages.append(ModelMessage(role: "user", content: "", extras: #""images":["\#(picture)","\#(picture)"]"#))
        messages.append(ModelMessage(role: "user", content: picture))
        #expect(messages.entries.map(\.images) == [1, 2, 0])
        #expect(messages.entries.map(\.imageBytes) == [6, 6_004, 0])
        #expect(!messages.hasImageAddress)
    }

    @Test(arguments: [
        #""images":["https://example.org/a.png"]"#, #""images":["QQ==","http:\/\/a.org"]"#,
        #""images":["data:image/png;base64,QQ=="]"#, #""tool_calls":[],"images":["HTTPS://a.org"]"#,
    ])
    func addressOfAPictureIsFoundInEachPartOfAConversation(_ extras: String) {
        var messages = EncodedConversation()
        messages.append(ModelMessage(role: "user", content: "https://a.org", extras: #""images":["QQ=="]"#))
        messages.append(ModelMessage(role: "user", content: "", extras: extras))
        messages.append(ModelMessage(role: "tool", content: "", extras: #""tool_name":"images","thinking":"https:""#))
        #expect(messages.hasImageAddress)
        #expect(messages.messages(1..<2).hasImageAddress)
        #expect(!messages.messages(0..<1).hasImageAddress && !messages.messages(2..<3).hasImageAddress)
        #expect(!messages.removing(1..<2).hasImageAddress)
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
