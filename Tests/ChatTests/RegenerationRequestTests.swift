import ChatterdChat
import Testing

@Suite(.timeLimit(.minutes(30))) struct RegenerationRequestTests {
    private func decode(_ json: String) throws -> RegenerationRequest {
        let body = Array(json.utf8)
        return try RegenerationRequest(decoding: body.span)
    }

    @Test(arguments: [
        "", "{}", " {\n} ",
        #"{"model":null,"stream":null,"on_disconnect":null,"on_interrupt":null,"queue_events":null,"step_events":null}"#,
        #"{"stream":false,"stream":true}"#,
    ])
    func allMembersAreOptional(_ json: String) throws {
        #expect(try decode(json) == RegenerationRequest())
    }

    @Test func allMembersAreDecoded() throws {
        var expected = RegenerationRequest()
        expected.model = "other"
        expected.stream = false
        expected.onDisconnect = .cancel(after: .seconds(5))
        expected.onInterrupt = .regenerate
        expected.queueEvents = true
        expected.stepEvents = false
        let json =
            #"{"m\u006fdel":"other","stream":false,"on_disconnect":5,"on_interrupt":"regenerate","queue_events":true,"#
            + #""step_events":false}"#
        #expect(try decode(json) == expected)
    }

    @Test(
        arguments: [
            (" ", .notJSON, nil), ("{", .notJSON, nil), ("{} x", .notJSON, nil), ("[]", .wrongType, nil),
            (#"{"model":""}"#, .empty, "model"),
            ("{\"model\":\"\(String(repeating: "m", count: 257))\"}", .tooLong, "model"),
            (#"{"model":"a\u0000"}"#, .forbiddenCharacter, "model"), (#"{"model":7}"#, .wrongType, "model"),
            (#"{"stream":1}"#, .wrongType, "stream"), (#"{"on_disconnect":"soon"}"#, .unknownValue, "on_disconnect"),
            (#"{"on_interrupt":"soon"}"#, .unknownValue, "on_interrupt"),
            (#"{"queue_events":1}"#, .wrongType, "queue_events"), (#"{"step_events":1}"#, .wrongType, "step_events"),
            (#"{"options":{},"appID":"a"}"#, .unknownMember, nil),
            (#"{"model":"m","messages":[]}"#, .unknownMember, nil),
        ] as [(String, ChatRequestError.Problem, String?)])
    func bodyOfTheWrongShapeIsRejected(_ json: String, _ problem: ChatRequestError.Problem, _ field: String?) throws {
        let error = try #require(throws: ChatRequestError.self) { try decode(json) }
        #expect(error.problem == problem)
        #expect(error.field == field)
    }

    @Test func invalidUTF8IsRejected() {
        let body = Array(#"{"model":""#.utf8) + [0xFF] + Array(#""}"#.utf8)
        #expect(throws: ChatRequestError.self) { try RegenerationRequest(decoding: body.span) }
    }

    @Test(
        arguments: [
            ("finish", .finish), ("cancel", .cancel(after: .zero)), ("0", .cancel(after: .zero)),
            ("86400", .cancel(after: .seconds(86_400))), ("86401", nil), ("-1", nil), ("1.5", nil), ("+1", nil),
            ("", nil),
            ("Cancel", nil), ("cancel ", nil), ("999999999999999999999", nil),
        ] as [(String, DisconnectPolicy?)])
    func errorFieldEqualsTheErrorMember(_ text: String, _ expected: DisconnectPolicy?) {
        #expect(DisconnectPolicy(parsing: text) == expected)
    }
}
