import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterClient

/// Values of the API, from the samples in docs/api.md.
struct ValueTests {
    private func decode<Value: Decodable>(_ type: Value.Type, _ json: String) throws -> Value {
        try JSON.decode(type, from: Array(json.utf8))
    }

    @Test func conversationsAreDecoded() throws {
        let list = try decode(
            ConversationList.self,
            #"{"conversations":[{"conversation":"Rome","title":"Where?","created_at":"2026-11-23T12:02:11.204113Z","updated_at":"2026-11-23T12:04:40Z","archived":false,"running":true,"matches":[{"seq":1,"role":"user","excerpt":"Where?"}]}]}"#
        )
        let conversation = try #require(list.conversations.first)
        #expect(conversation.name == "Rome" && conversation.isRunning && !conversation.isArchived && list.next == nil)
        #expect(conversation.matches?.first?.seq == 1)
        #expect(abs(conversation.createdAt.timeIntervalSince1970 - 1_795_435_331.204) < 0.001)
        #expect(conversation.updatedAt.timeIntervalSince1970 == 1_795_435_480)
    }

    @Test func messagesAreDecoded() throws {
        let page = try decode(
            MessagePage.self,
            #"{"conversation":"Rome","messages":[{"seq":1,"role":"user","content":"Hi","time":"2026-11-20T17:07:20.859441Z","active":true,"after":0,"parent":null},{"seq":2,"id":"abc","model":"echo","state":"complete","role":"assistant","content":"Hi","time":"2026-11-20T17:07:20.859441Z","prompt_eval_count":1,"eval_count":3,"active":true}],"first":1,"last":2,"more_before":false,"more_after":true}"#
        )
        #expect(page.messages.map(\.state) == [nil, .complete] && page.moreAfter && page.messages[1].evalCount == 3)
        #expect(page.messages[0].after == 0 && page.messages[0].parent == nil)
    }

    @Test(arguments: PeerNumber.all)
    func messageWithImpossibleCountsIsDecoded(_ number: PeerNumber) throws {
        let message = try decode(
            Message.self,
            #"{"seq":2,"role":"assistant","content":"Hi","time":"2026-11-20T17:07:20Z","prompt_eval_count":\#(number.text),"eval_count":\#(number.text),"active":true}"#
        )
        #expect(message.promptEvalCount == number.count && message.evalCount == number.count)
        let line = try decode(
            AnswerLine.self,
            #"{"model":"m","done":true,"prompt_eval_count":\#(number.text),"eval_count":\#(number.text)}"#)
        let end = ReplyStatistics(model: "m", promptTokens: number.count, answerTokens: number.count)
        #expect(line.events == [.finished(end)])
    }

    @Test(arguments: ["9223372036854775807", "-9223372036854775808", "253402300800", "1e308", "true"])
    func timeOutsideOfTheCalendarIsMalformed(_ time: String) {
        #expect(throws: ChatterError.self) {
            try decode(
                AppKey.self,
                #"{"id":"5a","app":"shop","label":"","scopes":["chat"],"created_at":\#(time)}"#)
        }
    }

    @Test func keysAndUsageAreDecoded() throws {
        let key = try decode(
            AppKey.self,
            #"{"id":"5a","app":"shop","label":"","scopes":["chat"],"created_at":1795435200,"expires_at":1795440000,"key":"chatterd_5a"}"#
        )
        #expect(key.createdAt == Date(timeIntervalSince1970: 1_795_435_200) && key.revokedAt == nil)
        let usage = try decode(
            Usage.self,
            #"{"key":"5a","days":[{"day":"2026-11-23","requests":12,"prompt_tokens":2310,"answer_tokens":954,"running":1,"reserved_tokens":1180}]}"#
        )
        #expect(usage.days.first?.promptTokens == 2_310)
    }

    @Test(arguments: [
        "null", "true", "7", "-2.5", #""a\nb""#, "[1,[],{}]", #"{"a_b":{"cD":[null]},"é":"/"}"#,
    ]) func anyJSONKeepsItsText(_ text: String) throws {
        #expect(try #require(JSONValue(parsing: Array(text.utf8))).text == text)
    }

    @Test func wrongJSONIsMalformed() {
        #expect(JSONValue(parsing: Array("{".utf8)) == nil)
        let error = #expect(throws: ChatterError.self) { try JSON.decode(ModelList.self, from: Array("[]".utf8)) }
        #expect(error?.code == "malformed")
    }

    @Test func postingsAndTokensAreDecoded() throws {
        let board = try decode(
            [BoardMessage].self, #"[["ada","Hello, board","3ba4cc87","2026-11-20T14:29:43.661295Z"]]"#)
        #expect(board.first?.name == "ada" && board.first?.text == "Hello, board" && board.first?.id == "3ba4cc87")
        let token = try decode(ClientToken.self, #"{"access_token":"eyJ","token_type":"Bearer","expires_in":900}"#)
        #expect(token == ClientToken(text: "eyJ", expiresIn: 900))
    }

    @Test func randomNamesDiffer() {
        let names = (0..<1_000).map { _ in Conversation.randomName() }
        #expect(Set(names).count == 1_000 && names.allSatisfy { $0.count == 16 })
    }

    @Test(arguments: [
        (Prompt.Parent.start, Prompt.DisconnectPolicy.finish), (.reply(ReplyID("r1")), .cancel),
        (nil, .grace(.seconds(30))), (nil, nil),
    ]) func storedPromptIsTheSameRequest(_ parent: Prompt.Parent?, _ policy: Prompt.DisconnectPolicy?) throws {
        var prompt = Prompt("Hi", in: "trip", model: "m", parent: parent)
        prompt.onDisconnect = policy
        prompt.onInterrupt = .regenerate
        prompt.whenBusy = .refuse
        prompt.members = ["think": .bool(true)]
        prompt.rawMembers = ["format": #"{"z":1}"#]
        prompt.messages[0].toolCalls = [ToolCall(id: "c", name: "f", arguments: .object(["a": .integer(1)]))]
        let stored = try JSONDecoder().decode(Prompt.self, from: JSONEncoder().encode(prompt))
        #expect(stored == prompt)
        #expect(try stored.body(app: "a") == prompt.body(app: "a"))
    }

    @Test func stateOfALaterServerIsKept() throws {
        let line = try decode(
            AnswerLine.self, #"{"message":{"content":"Hi"},"done":true,"done_reason":"stop","state":"archived"}"#)
        #expect(line.state == ReplyState(rawValue: "archived") && line.events.first == .text("Hi"))
        #expect(try decode(ReplyState.self, #""complete""#) == .complete)
    }

    @Test func endHasTheWordOfItsModelServer() throws {
        let end = #""done":true,"done_reason":"stop","finish_reason":"content_filter","refusal":true"#
        let line = try decode(AnswerLine.self, #"{"message":{"content":""},\#(end)}"#)
        guard case .finished(let statistics)? = line.events.last else {
            Issue.record("no end")
            return
        }
        #expect(statistics.reason == "content_filter" && statistics.isRefusal && !statistics.wasStopped)
        // As an app stored it with a version that did not know refusals.
        let old = try JSONDecoder().decode(
            ReplyStatistics.self, from: Data(#"{"model":"m","wasStopped":false}"#.utf8))
        #expect(old == ReplyStatistics(model: "m"))
    }

    @Test func rawMemberIsSentAsItIs() throws {
        var prompt = Prompt("Hi", idempotencyKey: "k")
        prompt.rawMembers = ["format": #"{"z":1,"a":{"c":2,"b":[]}}"#, "keep_alive": "\"5m\""]
        let body = String(decoding: try prompt.body(app: "a"), as: UTF8.self)
        #expect(body.hasPrefix("{") && body.hasSuffix(#","format":{"z":1,"a":{"c":2,"b":[]}},"keep_alive":"5m"}"#))
        #expect(JSONValue(parsing: Array(body.utf8)) != nil)
        prompt.rawMembers = ["format": "{} {}"]
        #expect(throws: ChatterError.self) { try prompt.body(app: "a") }
    }
}
