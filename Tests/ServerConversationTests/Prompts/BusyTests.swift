import ChatterdTestSupport
import Testing

@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// `when_busy` of /llmchat.
@Suite(.timeLimit(.minutes(30))) struct BusyTests {
    /// Runs two processes on one database. A reply runs on the first one.
    private func whileBusy(
        _ body: @escaping @Sendable (Stage, Stage, RawClient, String, ScriptedUpstream) throws -> Void
    ) async throws {
        let upstream = try ScriptedUpstream.stalling(after: "Hello")
        try await onStage(upstream: upstream.url) { stage in
            let other = try stage.startAnother()
            defer { #expect(throws: Never.self) { try other.stop() } }
            let (client, location) = try stage.begin("app", "one")
            _ = try client.nextDataEvent()
            try body(stage, other, client, location, upstream)
        }
    }

    @Test func waitingPromptIsAnsweredAfterTheRunningOne() async throws {
        try await whileBusy { stage, other, _, location, upstream in
            let (client, _) = try other.begin("app", "two", adding: #","when_busy":"wait""#)
            #expect(upstream.requests.count == 1)
            #expect(try stage.stop(location).status == 200)
            #expect(try client.nextDataEvent().text == "next")
        }
    }

    @Test func refusedPromptNamesTheRunningReply() async throws {
        try await whileBusy { stage, other, _, location, upstream in
            let rows = try stage.rows("app").count
            for stage in [stage, other] {
                let refused = try stage.ask("app", "two", adding: #","when_busy":"refuse""#)
                #expect(refused.status == 409 && refused["Location"] == location)
                #expect(refused.json["code"] as? String == "conversation_busy")
                #expect(refused.json["location"] as? String == location)
                #expect(refused.json["reply"] as? String == String(location.dropFirst("/replies/".count)))
            }
            #expect(try stage.rows("app").count == rows)
            #expect(try other.stop(location).status == 200)
            Transcript(try other.ask("app", "two", adding: #","when_busy":"refuse""#)).check()
            #expect(upstream.requests.last?.messages == [["user", "one"], ["assistant", "Hello"], ["user", "two"]])
        }
    }

    @Test(arguments: [true, false])
    func stoppedReplyKeepsItsTextBeforeTheNewPrompt(_ isElsewhere: Bool) async throws {
        try await whileBusy { stage, other, client, location, upstream in
            let asked = isElsewhere ? other : stage
            Transcript(try asked.ask("app", "two", adding: #","when_busy":"stop""#)).check()
            let last = try client.nextDataEvent()
            #expect(object(last.data ?? "")["state"] as? String == "cancelled")
            try upstream.waitForClose(of: upstream.requests[0])
            #expect(
                try stage.rows("app").map(\.summary).map(Array.init) == [
                    ["user", "one"], ["assistant", "Hello", "cancelled"], ["user", "two"],
                    ["assistant", "next", "complete"],
                ])
            let page = try stage.send("GET", "/conversations/app").json["messages"] as? [[String: Any]]
            #expect(page?.map { $0["active"] as? Bool } == [true, true, true, true])
        }
    }

    @Test(arguments: [true, false])
    func replacedTurnLeavesTheBranch(_ isElsewhere: Bool) async throws {
        try await whileBusy { stage, other, client, location, upstream in
            let asked = isElsewhere ? other : stage
            let fields = [("Idempotency-Key", "k")]
            let answer = try asked.ask("app", "two", adding: #","when_busy":"replace""#, fields: fields)
            Transcript(answer).check()
            let again = try asked.ask("app", "two", adding: #","when_busy":"replace""#, fields: fields)
            #expect(again["Location"] == answer["Location"])
            let last = try client.nextDataEvent()
            #expect(object(last.data ?? "")["state"] as? String == "cancelled")
            #expect(upstream.requests.last?.messages == [["user", "two"]])
            let page = try stage.send("GET", "/conversations/app").json["messages"] as? [[String: Any]]
            #expect(page?.map { $0["active"] as? Bool } == [false, false, true, true])
        }
    }

    @Test func otherValuesAreRefusedWithThePermittedOnes() async throws {
        try await onStage { stage in
            for value in ["\"no\"", "\"\"", "\"Wait\""] {
                let answer = try stage.ask("app", "x", adding: #","when_busy":\#(value)"#)
                #expect(answer.status == 422)
                let message = answer.json["error"] as? String ?? ""
                #expect(["wait", "refuse", "stop", "replace"].allSatisfy { message.contains("\"\($0)\"") })
            }
            #expect(try stage.ask("app", "x", adding: #","When_Busy":"wait""#).status == 422)
            #expect(try stage.rows("app").isEmpty)
        }
    }
}
