import ChatterdHTTP
import Testing

@testable import ChatterClient

/// The course of a reply, without I/O.
struct ReplyRunTests {
    private static let whole =
        ": keep-alive\n\n" + textEvent("2", "Hé") + textEvent("5", " 世") + textEvent("5-end", "", done: true)
    private static let end = ReplyStatistics(model: "m", reason: "stop", promptTokens: 3, answerTokens: 5)

    private func started() throws(ChatterError) -> ReplyRun {
        var run = ReplyRun(
            making: ClientRequest(.post, "/llmchat"), isRepeatable: true, app: "tests", retries: RetryPolicy())
        _ = try run.request()
        #expect(try run.connected(response(location: "/replies/abc")) == [.started(ReplyID("abc"))])
        return run
    }

    private func response(_ status: Status = .ok, location: String? = nil) -> ResponseHead {
        var fields = Fields()
        if let value = location.flatMap(FieldValue.init(validating:)) {
            fields.add(.location, value)
        }
        return ResponseHead(status: status, fields: fields)
    }

    @Test func eventsAreTheSameForEachSplit() throws {
        let bytes = Array(Self.whole.utf8)
        for split in 0...bytes.count {
            var run = try started()
            let events =
                try run.received(Array(bytes[..<split])) + run.received(Array(bytes[split...]))
            #expect(events == [.text("Hé"), .text(" 世"), .finished(Self.end)], "\(split)")
            #expect(run.isOver && run.position == "5-end")
        }
    }

    @Test func eventsAreTheSameByteByByte() throws {
        var run = try started()
        var events: [ReplyEvent] = []
        for byte in Self.whole.utf8 {
            events += try run.received([byte])
        }
        #expect(events == [.text("Hé"), .text(" 世"), .finished(Self.end)])
    }

    @Test func stepIsAnEventWithoutAPosition() throws {
        var run = try started()
        let data = #"{"round":1,"index":2,"name":"f","arguments":{"x":1},"state":"done","result":"1","is_cut":true}"#
        let events = try run.received(textEvent("2", "Hi") + "event: step\ndata: \(data)\n\n")
        guard case .step(let step)? = events.last else { throw ChatterError.malformed("no step") }
        #expect(step.round == 1 && step.index == 2 && step.name == "f" && step.state == .done && step.isCut == true)
        #expect(step.arguments?.text == #"{"x":1}"# && step.result == "1" && step.id == nil)
        #expect(run.position == "2" && events.first == .text("Hi"))
    }

    @Test func lostConnectionResumesAfterTheLastWholeEvent() throws {
        var run = try started()
        // The second event is cut before its blank line.
        let cut = textEvent("2", "He") + String(textEvent("5", "llo").dropLast())
        #expect(try run.received(cut) == [.text("He")])
        let retry = try run.failed(.connectionLost("cut"))
        #expect(retry.wait == .milliseconds(250))
        #expect(retry.events == [.connectionLost(.connectionLost("cut"), retryAfter: .milliseconds(250))])
        let request = try run.request()
        #expect(request.method == .get && request.path == "/replies/abc")
        #expect(request.fields[.lastEventID] == "2")
        #expect(try run.connected(response()) == [.resumed])
        #expect(try run.received(textEvent("5-end", "llo", done: true)).first == .text("llo"))
    }

    @Test func replyWithoutEventsResumesAtItsStart() throws {
        var run = try started()
        _ = try run.failed(.connectionLost("cut"))
        #expect(try run.request().fields[.lastEventID] == nil)
    }

    @Test func resetDropsTheTextAndMovesThePosition() throws {
        var run = try started()
        let reset =
            "id: 2~0\nevent: reset\ndata: {\"reset\":true,\"attempt\":2,\"message\":{\"content\":\"…\"},\"done\":false}\n\n"
        let events = try run.received(textEvent("4", "Half") + reset + textEvent("2~3", "New"))
        #expect(events == [.text("Half"), .reset, .text("New")])
        #expect(run.position == "2~3")
    }

    @Test func queuePositionsDoNotMoveThePosition() throws {
        var run = try started()
        let queue = """
            event: queue
            data: {"message":{"role":"assistant","content":""},"done":false,"queue":{"upstream":"gpu","position":3,"length":17}}


            """
        let events = try run.received(textEvent("2", "Hi") + queue)
        #expect(events.last == .queued(try #require(place)))
        #expect(run.position == "2")
    }

    private var place: QueuePosition? {
        try? JSON.decode(QueuePosition.self, from: Array(#"{"upstream":"gpu","position":3,"length":17}"#.utf8))
    }

    @Test func thinkingComesBeforeTextAndToolCallsAfterIt() throws {
        var run = try started()
        let line = """
            id: 1.2.3
            data: {"message":{"content":"a","thinking":"b","tool_calls":[{"id":"c1","function":{"name":"f","arguments":{"x":[1,2.5,null,true]}}}]},"done":false}


            """
        let events = try run.received(line)
        guard case .toolCalls(let calls)? = events.last else { throw ChatterError.malformed("no call") }
        #expect(events.dropLast() == [.thinking("b"), .text("a")])
        #expect(calls.first?.id == "c1" && calls.first?.function.name == "f")
        #expect(calls.first?.function.arguments?.text == #"{"x":[1,2.5,null,true]}"#)
    }

    @Test func errorWithAnEndIsTheEnd() throws {
        var run = try started()
        #expect(throws: ChatterError.self) { try run.received(errorEvent("0-end", "upstream_error")) }
        #expect(run.isOver)
        #expect(throws: ChatterError.self) { try run.failed(.connectionLost("x")) }
    }

    @Test(arguments: ["store_unavailable", "shutting_down"]) func errorWithoutAnEndResumes(_ code: String) throws {
        var run = try started()
        let bytes = Array((textEvent("2", "Hi") + errorEvent(nil, code)).utf8)
        var events: ArraySlice<ReplyEvent> = []
        do throws(ChatterError) {
            try run.received(bytes.span, &events)
            Issue.record("no error")
        } catch {
            #expect(error == .connectionLost("It failed."))
            _ = try run.failed(error)
        }
        #expect(events == [.text("Hi")], "the events before the error count")
        #expect(try run.request().fields[.lastEventID] == "2")
    }

    @Test func errorThatDoesNotPassEndsTheStream() throws {
        var run = try started()
        let error = #expect(throws: ChatterError.self) {
            try run.received(errorEvent(nil, "unauthorized", retryable: false))
        }
        #expect(throws: ChatterError.self) { try run.failed(try #require(error)) }
    }

    @Test func replyThatIsOverHasNoFurtherEvent() throws {
        var run = ReplyRun(reading: ReplyID("abc"), after: "5-end", app: nil, retries: RetryPolicy())
        #expect(try run.request().fields[.lastEventID] == "5-end")
        #expect(try run.connected(response(.noContent)).isEmpty)
        #expect(run.isOver)
    }

    @Test func requestThatMayNotBeRepeatedIsSentOnce() throws {
        var run = ReplyRun(
            making: ClientRequest(.post, "/replies/a/regenerate"), isRepeatable: false, app: nil, retries: RetryPolicy()
        )
        _ = try run.request()
        #expect(throws: ChatterError.unreachable("x")) { try run.failed(.unreachable("x")) }
    }

    @Test(arguments: [
        ("/replies/abc", "abc"), ("/base/replies/abc?appID=me", "abc"), ("https://h/replies/abc", "abc"),
        ("/replies/", nil), ("/replies/a/b", nil), ("/conversations/abc", nil),
    ]) func locationNamesTheReply(_ location: String, _ id: String?) {
        #expect(ReplyID(location: location)?.text == id)
    }
}

extension ReplyRun {
    /// Receives bytes. Returns their events, or throws without those before the error.
    fileprivate mutating func received(_ bytes: [UInt8]) throws(ChatterError) -> [ReplyEvent] {
        var events: ArraySlice<ReplyEvent> = []
        try received(bytes.span, &events)
        return Array(events)
    }

    /// Receives text.
    fileprivate mutating func received(_ text: String) throws(ChatterError) -> [ReplyEvent] {
        try received(Array(text.utf8))
    }
}
