import ChatterdBasics
import ChatterdChat
import ChatterdTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct ChatRequestTests {
    @Test func requestsOfAllClientsAreDecoded() throws {
        let request = try ChatRequest(
            json:
                #"{"appID":"edu.umich.reactive","model":"tinyllama","messages":[{"role":"user","content":"Hi\n\u00e9"}],"stream":true}"#
        )
        #expect(
            request
                == ChatRequest(
                    appID: "edu.umich.reactive", model: "tinyllama",
                    messages: [ModelMessage(role: "user", content: "Hi\né")]))
    }

    @Test(arguments: [
        ("", true), (#","stream":true"#, true), (#","stream":false"#, false), (#","stream":null"#, true),
        (#","stream":true,"stream":false"#, false),
    ])
    func streamingIsTheDefault(_ member: String, _ expected: Bool) throws {
        #expect(try ChatRequest(json: .request(adding: member)).stream == expected)
    }

    @Test(
        arguments: [
            ("", nil), (#","on_disconnect":null"#, nil), (#","on_disconnect":"finish""#, .finish),
            (#","on_disconnect":"cancel""#, .cancel(after: .zero)), (#","on_disconnect":0"#, .cancel(after: .zero)),
            (#","on_disconnect":90"#, .cancel(after: .seconds(90))),
            (#","on_disconnect":86400"#, .cancel(after: .seconds(86_400))),
            (#","on_disconnect":1,"on_\u0064isconnect":2"#, .cancel(after: .seconds(2))),
        ] as [(String, DisconnectPolicy?)])
    func disconnectPolicyIsDecoded(_ member: String, _ expected: DisconnectPolicy?) throws {
        let request = try ChatRequest(json: .request(adding: member))
        #expect(request.onDisconnect == expected)
        #expect(request.passThrough.isEmpty)
    }

    @Test(
        arguments: [
            ("", nil), (#","conversation":null"#, nil), (#","conversation":"Trip to Rome""#, "Trip to Rome"),
            (#","conversation":"a","conversation":"b""#, "b"),
        ] as [(String, String?)])
    func conversationIsDecoded(_ member: String, _ expected: String?) throws {
        let request = try ChatRequest(json: .request(adding: member))
        #expect(request.appID == "a" && request.conversation == expected)
        #expect(request.passThrough.isEmpty)
    }

    @Test(
        arguments: [
            ("", nil), (#","on_interrupt":null"#, nil), (#","on_interrupt":"close""#, .close),
            (#","on_interrupt":"regenerate""#, .regenerate),
        ] as [(String, InterruptPolicy?)])
    func interruptPolicyIsDecoded(_ member: String, _ expected: InterruptPolicy?) throws {
        let request = try ChatRequest(json: .request(adding: member))
        #expect(request.onInterrupt == expected)
        #expect(request.passThrough.isEmpty)
    }

    @Test(
        arguments: [
            ("", .wait), (#","when_busy":null"#, .wait), (#","when_busy":"wait""#, .wait),
            (#","when_busy":"refuse""#, .refuse), (#","when_busy":"stop""#, .stop),
            (#","when_busy":"replace""#, .replace),
        ] as [(String, BusyPolicy)])
    func busyPolicyIsDecoded(_ member: String, _ expected: BusyPolicy) throws {
        let request = try ChatRequest(json: .request(adding: member))
        #expect(request.whenBusy == expected)
        #expect(request.passThrough.isEmpty)
    }

    @Test(
        arguments: [
            ("", nil), (#","queue_events":null"#, nil), (#","queue_events":true"#, true),
            (#","queue_events":false"#, false),
        ] as [(String, Bool?)])
    func queueEventsAreDecoded(_ member: String, _ expected: Bool?) throws {
        let request = try ChatRequest(json: .request(adding: member))
        #expect(request.queueEvents == expected)
        #expect(request.passThrough.isEmpty)
        let steps = try ChatRequest(json: .request(adding: member.replacing("queue", with: "step")))
        #expect(steps.stepEvents == expected && steps.queueEvents == nil && steps.passThrough.isEmpty)
    }

    @Test(
        arguments: [
            ("", nil), (#","parent":null"#, nil), (#","parent":"start""#, "start"),
            (#","parent":"3ba4cc87-d4a4-4eb1-9d35-12b019e508c8""#, "3ba4cc87-d4a4-4eb1-9d35-12b019e508c8"),
        ] as [(String, String?)])
    func requestMayFollowAnEarlierReply(_ member: String, _ expected: String?) throws {
        let request = try ChatRequest(json: .request(adding: member))
        #expect(request.parent == expected)
        #expect(request.passThrough.isEmpty)
    }

    @Test func membersForTheModelAreUnchanged() throws {
        let request = try ChatRequest(
            json: .request(
                adding:
                    #","options":{"temperature": 0.50 , "stop":["\u003c"]},"format":null,"think":"high","keep_alive":-1,"new\u0065r":[1,  2],"tools":[],"think":false"#
            ))
        #expect(
            request.passThrough.map { $0.key + "=" + String(decoding: $0.value, as: UTF8.self) } == [
                #"options={"temperature": 0.50 , "stop":["\u003c"]}"#, "keep_alive=-1", "newer=[1,  2]", "tools=[]",
                "think=false",
            ])
    }

    @Test func unstorableCharactersAreReplacedEverywhere() throws {
        let request = try ChatRequest(
            json:
                #"{"appID":"a","model":"m","messages":[{"role":"user","content":"a\u0000b\ud800c","thinking":"\u0000","tool_calls":[{"\u0000":1}]}],"options":{"stop":"\udc00"}}"#
        )
        #expect(
            request.messages == [
                ModelMessage(
                    role: "user", content: "a\u{FFFD}b\u{FFFD}c",
                    extras: #""thinking":"\ufffd","tool_calls":[{"\ufffd":1}]"#)
            ])
        #expect(request.passThrough == [RawMember(key: "options", value: Array(#"{"stop":"\ufffd"}"#.utf8))])
    }

    @Test func furtherMembersOfAMessageAreKept() throws {
        let request = try ChatRequest(
            json: .request(
                messages:
                    #"[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{"a": 1}}}],"thinking":null,"name":"x"},{"tool_name":"f","content":"7","role":"tool","tool_call_id":"c1"},{"role":"user","content":null,"images":["aGk="]}]"#
            ))
        #expect(
            request.messages == [
                ModelMessage(
                    role: "assistant", content: "",
                    extras: #""tool_calls":[{"function":{"name":"f","arguments":{"a": 1}}}]"#),
                ModelMessage(role: "tool", content: "7", extras: #""tool_name":"f","tool_call_id":"c1""#),
                ModelMessage(role: "user", content: "", extras: #""images":["aGk="]"#),
            ])
    }

    @Test(arguments: ["system", "assistant", "tool", "User"])
    func emptyContentIsAcceptedUnlessTheRoleIsUser(role: String) throws {
        let request = try ChatRequest(json: .request(messages: #"[{"role":"\#(role)","content":""}]"#))
        #expect(request.messages == [ModelMessage(role: role, content: "")])
    }

    @Test func blankPromptIsAcceptedBesideAnImage() throws {
        let request = try ChatRequest(
            json: .request(messages: #"[{"role":"user","content":" ","images":["aGk="]}]"#))
        #expect(request.messages.first?.content == " ")
    }

    @Test func modelNameOfTheGreatestLengthIsAccepted() throws {
        let name = String(repeating: "é", count: 128)
        #expect(try ChatRequest(json: .request(model: "\"\(name)\"")).model == name)
    }

    @Test func unknownMemberNamesAreKept() throws {
        let members =
            #","seed":1,"modèle":1,"models":1,"nn":1,"\#(String(repeating: "é", count: 64))":1,"options":{"Temperature":1}"#
        #expect(try ChatRequest(json: .request(adding: members)).passThrough.count == 6)
    }

    @Test func modelMayBeOptional() throws {
        let texts = [
            #"{"appID":"a","messages":[{"role":"system","content":"x"}]}"#,
            #"{"appID":"a","model":null,"messages":[{"role":"system","content":"x"}]}"#,
            #"{"appID":"a","model":"","messages":[{"role":"system","content":"x"}]}"#,
        ]
        for text in texts {
            #expect(try ChatRequest(json: text, requiringModel: false).model == "")
            #expect(throws: ChatRequestError.self) { try ChatRequest(json: text) }
        }
    }

    /// A credential names the app then.
    @Test func appIDMayBeAbsent() throws {
        #expect(try ChatRequest(json: .request(appID: "null")).appID == nil)
    }

    @Test func nameOfMaximumLengthIsAccepted() throws {
        let name = String(repeating: "é", count: 155)
        #expect(try ChatRequest(json: .request(appID: "\"\(name)\"")).appID == name)
        let role = String(repeating: "r", count: 32)
        let request = try ChatRequest(json: .request(messages: #"[{"role":"\#(role)","content":""}]"#))
        #expect(request.messages.first?.role == role)
    }

    @Test(arguments: chatRequestRefusals)
    func bodyOfTheWrongShapeIsRejectedWithASentence(_ refusal: ChatRequestRefusal) {
        #expect(throws: ChatRequestError(problem: refusal.problem, field: refusal.field, message: refusal.message)) {
            try ChatRequest(json: refusal.body)
        }
    }

    @Test func invalidUTF8IsRejected() {
        let body = Array("{\"appID\":\"".utf8) + [0xFF] + Array("\"}".utf8)
        #expect(throws: ChatRequestError(problem: .notUTF8, field: nil, message: "The body is not UTF-8: see byte 10."))
        {
            try ChatRequest(decoding: body.span)
        }
    }

    @Test func countsAreLimited() {
        let messages = Array(repeating: #"{"role":"u","content":""}"#, count: 16_385).joined(separator: ",")
        #expect(
            throws: ChatRequestError(
                problem: .tooMany, field: "messages", message: "messages has more than 16384 elements.")
        ) {
            try ChatRequest(json: .request(messages: "[\(messages)]"))
        }
        let members = (0..<65).map { ",\"k\($0)\":0" }.joined()
        #expect(
            throws: ChatRequestError(
                problem: .tooMany, field: nil, message: "The body has more than 64 members for the model.")
        ) {
            try ChatRequest(json: .request(adding: members))
        }
    }

    @Test func noPartOfABodyIsAccepted() {
        let body = Array(String.request(adding: #","options":{"a":[1]}"#).utf8)
        for end in 0..<body.count {
            let part = Array(body[..<end])
            #expect(throws: ChatRequestError.self) { try ChatRequest(decoding: part.span) }
        }
    }
}

extension ChatRequest {
    fileprivate init(json: String, requiringModel: Bool = true) throws {
        let body = Array(json.utf8)
        self = try ChatRequest(decoding: body.span, requiringModel: requiringModel)
    }
}
