import ChatterdHTTP
import Testing

@testable import ChatterClient

/// Streams of a client over scripted connections.
@Suite(.timeLimit(.minutes(30))) struct StreamTests {
    /// The events of a stream, and its error.
    private func read(
        _ events: AsyncThrowingStream<ReplyEvent, any Error>
    ) async -> (events: [ReplyEvent], error: ChatterError?) {
        var read: [ReplyEvent] = []
        do {
            for try await event in events {
                read.append(event)
            }
        } catch {
            return (read, error as? ChatterError)
        }
        return (read, nil)
    }

    private func text(_ events: [ReplyEvent]) -> String {
        events.map { if case .text(let text) = $0 { text } else { "" } }.joined()
    }

    @Test func answerThatIsCutAnywhereIsWhole() async {
        let body = textEvent("2", "He") + textEvent("5", "llo") + textEvent("5-end", "", done: true)
        for cut in 0..<body.utf8.count {
            // The events that a server sends after each position.
            let head = String(decoding: Array(body.utf8)[..<cut], as: UTF8.self)
            let seen = head.contains("llo\"},\"done\":false}\n\n") ? 2 : head.contains("\"done\":false}\n\n") ? 1 : 0
            let rest = [
                body, textEvent("5", "llo") + textEvent("5-end", "", done: true), textEvent("5-end", "", done: true),
            ]
            let server = ScriptedServer(
                .response(200, location: "/replies/a", [head]), .response(200, [rest[seen]]))
            let (events, error) = await read(server.client().answer(to: Prompt("Hi")))
            #expect(text(events) == "Hello" && error == nil, "\(cut)")
            #expect(server.requests.last?.fields[.lastEventID] == [nil, "2", "5"][seen])
            guard case .finished? = events.last else {
                Issue.record("no end at \(cut)")
                continue
            }
        }
    }

    @Test func promptIsRepeatedWithItsKeyUntilItIsAccepted() async {
        let server = ScriptedServer(
            .failure(.unreachable("refused")), .failure(.connectionLost("cut")),
            .response(503, [#"{"error":"Away.","code":"store_unavailable"}"#], isLost: false),
            .response(502, ["<html>"], isLost: false),
            .response(200, location: "/replies/a", [textEvent("2-end", "Hi", done: true)]))
        let (events, error) = await read(server.client().answer(to: Prompt("Hi", in: "trip", model: "m")))
        #expect(error == nil && text(events) == "Hi")
        #expect(events.filter { if case .connectionLost = $0 { true } else { false } }.count == 4)
        let requests = server.requests
        #expect(Set(requests.map { $0.fields[.idempotencyKey] ?? "" }).count == 1)
        #expect(Set(requests.map(\.body)).count == 1 && requests.count == 5)
    }

    @Test func promptThatIsRefusedIsNotRepeated() async {
        for (status, code) in [
            (429, "rate_limited"), (503, "overloaded"), (404, "model_not_found"), (401, "unauthorized"),
        ] {
            let server = ScriptedServer(
                .response(status, [#"{"error":"No.","code":"\#(code)"}"#], isLost: false))
            let (events, error) = await read(server.client().answer(to: Prompt("Hi")))
            #expect(events.isEmpty && error?.code == code && server.requests.count == 1)
        }
    }

    @Test func retriesEndAtTheTimeout() async {
        let server = ScriptedServer(.response(200, location: "/replies/a", [textEvent("2", "Hi")]))
        let (events, error) = await read(server.client(resumption: .nanoseconds(3)).answer(to: Prompt("Hi")))
        #expect(text(events) == "Hi")
        #expect(error == .unreachable("the script is over"))
        #expect(server.requests.count == 4)
    }

    @Test func regenerationIsSentOnceAndThenResumed() async {
        let server = ScriptedServer(
            .response(200, location: "/replies/b", [textEvent("2", "Hi")]),
            .response(200, [textEvent("2-end", "", done: true)]))
        let (events, error) = await read(server.client().regenerate(ReplyID("a"), model: "m"))
        #expect(error == nil && text(events) == "Hi")
        #expect(server.requests.map(\.path) == ["/replies/a/regenerate", "/replies/b"])
        let other = ScriptedServer(.failure(.connectionLost("cut")))
        #expect(await read(other.client().regenerate(ReplyID("a"))).error == .connectionLost("cut"))
        #expect(other.requests.count == 1)
    }

    @Test func feedResumesAfterItsLastEvent() async throws {
        let state =
            #"id: 1-4-4\#nevent: conversation\#ndata: {"conversation":"me","title":null,"archived":false,"last":4,"running":[]}\#n\#n"#
        let prompt =
            #"id: 1-5-5\#nevent: prompt\#ndata: {"seq":5,"turn":6,"role":"user","content":"Hi","time":"2026-11-23T12:02:11.204113Z"}\#n\#n"#
        let unknown = "id: 1-5-6\nevent: later\ndata: {}\n\n"
        let deleted = "event: deleted\ndata: {}\n\n"
        let server = ScriptedServer(
            .response(200, [state, prompt, unknown, errorEvent(nil, "shutting_down")]), .response(200, [deleted]))
        var events: [ConversationEvent] = []
        for try await event in server.client().changes(of: "a/b") {
            events.append(event)
        }
        guard case .state(let first)? = events.first, case .prompt(let second)? = events.dropFirst().first else {
            throw ChatterError.malformed("\(events)")
        }
        #expect(first.last == 4 && second.content == "Hi" && events.last == .deleted)
        #expect(events.dropFirst(3) == [.resumed, .deleted])
        #expect(server.requests.map(\.path) == ["/conversations/a%2Fb/events", "/conversations/a%2Fb/events"])
        #expect(server.requests.last?.fields[.lastEventID] == "1-5-6")
    }

    @Test func credentialGoesWithEachRequest() async throws {
        let page = #"{"conversations":[],"next":"c"}"#
        let server = ScriptedServer(.response(200, [page], isLost: false), .response(200, [page], isLost: false))
        _ = try await server.client(.app("me")).conversations(cursor: "a b", .all, having: "ä")
        #expect(try await server.client(.bearer("key")).conversations().next == "c")
        #expect(server.requests.map { $0.fields[.xAppID] } == ["me", nil])
        #expect(server.requests.map { $0.fields[.authorization] } == [nil, "Bearer key"])
        #expect(server.requests.first?.path == "/conversations?limit=50&cursor=a%20b&archived=all&q=%C3%A4")
    }

    @Test func postingsAndTokensAreRequestedAsTheAPISays() async throws {
        let server = ScriptedServer(
            .response(200, ["{}"], isLost: false),
            .response(200, [#"{"access_token":"eyJ","token_type":"Bearer","expires_in":900}"#], isLost: false))
        try await server.client().post("Hello", as: "ada")
        var properties = TokenProperties(person: "ada")
        properties.requestsPerMinute = 5
        #expect(try await server.client().makeToken(properties).text == "eyJ")
        #expect(server.requests.map(\.path) == ["/postchatt", "/tokens"])
        #expect(
            server.requests.map { String(decoding: $0.body, as: UTF8.self) }
                == [#"{"message":"Hello","name":"ada"}"#, #"{"person":"ada","requests_per_minute":5}"#])
    }

    @Test func toolsAndApprovalsAreRequestedAsTheAPISays() async throws {
        let server = ScriptedServer(
            .response(200, location: "/replies/b", [textEvent("2-end", "Hi", done: true)]),
            .response(200, ["{}"], isLost: false))
        var prompt = Prompt("Hi")
        prompt.usesTools = true
        _ = await read(server.client().answer(to: prompt))
        let json = #"{"round":0,"index":1,"name":"f","state":"asked"}"#
        let step = try JSON.decode(ToolStep.self, from: Array(json.utf8))
        try await server.client().answer(step, of: ReplyID("b"), isApproved: false)
        #expect(server.requests.map(\.path) == ["/llmtools", "/replies/b/approvals"])
        #expect(server.requests[0].fields[.stepEvents] == "1")
        #expect(String(decoding: server.requests[1].body, as: UTF8.self) == #"{"approve":false,"index":1,"round":0}"#)
    }

    @Test func bodyOfAPromptHasTheMembersOfTheAPI() throws {
        var prompt = Prompt(
            messages: [PromptMessage("Hi", images: ["aGk="])], in: "trip", model: "m", parent: .reply(ReplyID("a")),
            members: ["keep_alive": .string("5m"), "aMember": .integer(1)])
        prompt.whenBusy = .stop
        prompt.onDisconnect = .grace(.seconds(30))
        prompt.onInterrupt = .regenerate
        let body = String(decoding: try prompt.body(app: "me"), as: UTF8.self)
        #expect(
            body
                == #"{"aMember":1,"appID":"me","conversation":"trip","keep_alive":"5m","messages":[{"content":"Hi","images":["aGk="],"role":"user"}],"model":"m","on_disconnect":30,"on_interrupt":"regenerate","parent":"a","queue_events":true,"stream":true,"when_busy":"stop"}"#
        )
    }
}
