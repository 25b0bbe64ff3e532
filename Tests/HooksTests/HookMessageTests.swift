import ChatterdBasics
import ChatterdChat
import ChatterdCryptography
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdIdentity
import ChatterdRelay
import Testing

@testable import ChatterdHooks

/// The requests to hooks, and what their answers mean.
struct HookMessageTests {
    /// The example of Standard Webhooks' libraries.
    @Test func signatureIsThatOfTheSpecification() throws {
        let secret = try #require(Base64URL.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        let signature = HookMessage.signature(
            of: Array(#"{"test": 2432232314}"#.utf8), id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330,
            with: AuthenticationKey(bytes: secret))
        #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    private static let reply = ReplyID(high: 0, low: 1)
    private static var request: ChatRequest {
        let message = ModelMessage(role: "user", content: "Hi", extras: #""images":["aGk="]"#)
        var request = ChatRequest(appID: nil, model: "m", messages: [message])
        request.passThrough = [RawMember(key: "tools", value: Array("[{}]".utf8))]
        return request
    }

    @Test(arguments: [
        (
            HookMessage.prompt(
                request,
                in: ConversationKey(Owner(app: "shop", person: "ann"), name: "trip"), id: "1", at: 0),
            #"{"type":"prompt","timestamp":"1970-01-01T00:00:00.000000Z","data":{"app":"shop","person":"ann","conversation":"trip","model":"m","messages":[{"role":"user","content":"Hi","images":["aGk="]}],"tools":[{}]}}"#
        ),
        (
            HookMessage.answer(
                ReviewedAnswer(
                    reply: reply, conversation: ConversationKey(Owner(app: "a")), model: "m", text: Array("x\"".utf8),
                    thinking: Array("t".utf8), toolCalls: [Array(#"[{"a":1}]"#.utf8), Array(#"[{"b":2}]"#.utf8)]),
                id: "1", at: 0),
            #"{"type":"answer","timestamp":"1970-01-01T00:00:00.000000Z","data":{"app":"a","conversation":"a","id":"00000000-0000-0000-0000-000000000001","model":"m","content":"x\"","thinking":"t","tool_calls":[{"a":1},{"b":2}]}}"#
        ),
        (
            HookMessage.end(
                of: reply, in: ConversationKey.stateless(of: Owner(app: "a"), named: "x"), state: "failed", model: nil,
                error: "c", text: nil, endedAt: 5_000, id: "1", at: 0),
            #"{"type":"end","timestamp":"1970-01-01T00:00:00.000005Z","data":{"app":"a","id":"00000000-0000-0000-0000-000000000001","state":"failed","code":"c"}}"#
        ),
    ])
    func messageIsJSON(message: HookMessage, expected: String) {
        #expect(String(decoding: message.body, as: UTF8.self) == expected)
    }

    private static func words(_ verdict: HookVerdict<[UInt8]>) -> String {
        switch verdict {
        case .allow: "allow"
        case .refuse(let reason): "refuse \(reason ?? "-")"
        case .replace(let text): "replace \(String(decoding: text, as: UTF8.self))"
        }
    }

    @Test(
        arguments: [
            ("", "allow"), (" \n", "allow"), (#"{"action":"allow"}"#, "allow"), (#"{"action":"refuse"}"#, "refuse -"),
            (#"{"action":"refuse","message":"No."}"#, "refuse No."), (#"{"action":"refuse","message":""}"#, "refuse -"),
            (#"{"action":"replace","content":"x"}"#, "replace x"),
            (#"{"action":"replace","content":"12345678901"}"#, nil),
            (#"{"action":"replace","content":""}"#, "replace "),
            (#"{"action":"replace"}"#, nil), (#"{"action":"replace","content":1}"#, nil), (#"{"action":"no"}"#, nil),
            ("{}", nil), ("[]", nil), ("ok", nil), (#"{"action":1}"#, nil), ("{", nil),
        ] as [(String, String?)])
    func answerIsAVerdict(body: String, expected: String?) {
        let verdict = try? HookVerdict(
            Array(body.utf8),
            replacement: { (answer) throws(UsageError) in
                try HookVerdict.text(answer, upTo: 10)
            })
        #expect(verdict.map(Self.words) == expected)
    }

    @Test(
        arguments: [
            (#"{"action":"replace","messages":[{"role":"user","content":"x"}]}"#, ["x"]),
            (#"{"action":"replace","messages":[]}"#, nil), (#"{"action":"replace","messages":[{"role":"user"}]}"#, nil),
            (#"{"action":"replace","messages":{}}"#, nil), (#"{"action":"replace","content":"x"}"#, nil),
        ] as [(String, [String]?)])
    func messagesAreReplaced(body: String, expected: [String]?) {
        let verdict = try? HookVerdict(Array(body.utf8), replacement: HookVerdict.messages)
        guard case .replace(let messages) = verdict else {
            #expect(expected == nil && verdict == nil)
            return
        }
        #expect(messages.map(\.content) == expected)
    }
}
