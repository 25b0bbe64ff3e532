import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdSockets
import ChatterdTestSupport
import Testing

@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// A process announces only the stored end of a reply that another process has closed or adopted. SQL acts as the other one.
@Suite(.timeLimit(.minutes(30))) struct TakeoverTests {
    private static let closedElsewhere = """
        UPDATE chatts SET state = 'interrupted', message = 'Hel', holder = NULL, finished = now()
        WHERE turn = seq AND state = 'streaming'
        """

    @Test func replyThatWasClosedElsewhereEndsWithItsStoredEnd() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream.answering("Hello", then: " world", behind: gate)
        try await onStage(upstream: upstream.url) { stage in
            let (client, location) = try stage.begin("app", "x")
            #expect(try client.nextDataEvent().text == "Hello")
            try stage.cluster.query(Self.closedElsewhere, database: stage.database)
            gate.open()
            let events = client.readEvents().filter { $0.data != nil }
            #expect(client.bodyEnd == .complete)
            let reset = try #require(events.firstIndex { $0.name == "reset" })
            #expect(events[reset...].map(\.id) == ["0", "3", "3-end"])
            #expect(events[reset + 1].text == "Hel")
            let end = object(events.last?.data ?? "")
            #expect(end["code"] as? String == "interrupted")
            // The conversation and the reply have the members of the stream.
            let page = try stage.send("GET", "/conversations/app?appID=app").json
            let message = try #require((page["messages"] as? [[String: Any]])?.last)
            let document = try stage.send("GET", location, fields: [("Accept", "application/json")]).json
            for object in [message, document] {
                #expect(object["state"] as? String == "interrupted")
                #expect(object["error"] as? String == end["error"] as? String && object["error"] != nil)
                #expect(object["code"] as? String == "interrupted" && object["retryable"] as? Bool == true)
            }

            // Only the stored end counts: a client with another end gets the stored one.
            #expect(try stage.read(location, after: "3-end").status == 204)
            #expect(try stage.send("HEAD", location, fields: [("Last-Event-ID", "3-end")]).status == 204)
            for (id, ids) in [
                ("11-end", ["0", "3", "3-end"]), ("1-end", ["3", "3-end"]), ("2~3-end", ["0", "3", "3-end"]),
            ] {
                let again = try stage.read(location, after: id)
                #expect(again.status == 200)
                #expect(again.events.filter { $0.data != nil }.compactMap(\.id) == ids)
            }
        }
    }

    @Test func leaseIsRenewedWhileAllShardsAreBusy() async throws {
        try await onStage { stage in
            let isOver = Gate()
            defer { isOver.open() }
            for shard in stage.application.shards {
                let isBusy = Gate()
                shard.run {
                    isBusy.open()
                    isOver.wait()
                }
                isBusy.wait()
            }
            // The first renewal may have begun before.
            for _ in 0..<3 {
                let expiry = "SELECT expires_at FROM chatterd_processes"
                let last = try stage.cluster.query(expiry, database: stage.database)
                try eventually(
                    "the lease is renewed",
                    isTrue: { try stage.cluster.query(expiry, database: stage.database) != last })
            }
        }
    }

    @Test func answerInOnePieceFailsWhenItsReplyWasClosedElsewhere() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream.answering("Hello", then: " world", behind: gate)
        try await onStage(upstream: upstream.url) { stage in
            let client = try RawClient(port: stage.port)
            client.post("/llmchat", json: chatBody("app", "x", stream: false))
            try upstream.waitForRequests(1)
            try stage.cluster.query(Self.closedElsewhere, database: stage.database)
            gate.open()
            let answer = try client.readResponse()
            #expect(answer.status == 503 && answer["Location"] != nil)
            #expect(answer.json["code"] as? String == "interrupted")
        }
    }

    @Test func replyAdoptedByAnotherProcessIsReadToItsEnd() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream { request in
            request.number == 0
                ? [
                    .streamHead, .chunk(ModelLine.token("Hello")), .wait(for: gate), .chunk(ModelLine.done()),
                    .endChunks,
                ] : .answer(["again"])
        }
        try await onStage(upstream: upstream.url) { stage in
            let other = try stage.startAnother()
            defer { #expect(throws: Never.self) { try other.stop() } }
            let (client, location) = try stage.begin("app", "x", adding: ",\"on_interrupt\":\"regenerate\"")
            #expect(try client.nextDataEvent().text == "Hello")
            // The reply is released. The first process that checks regenerates it, except the process that still generates it.
            try stage.cluster.query(
                "UPDATE chatts SET holder = '00000000-0000-0000-0000-000000000000' WHERE state = 'streaming'",
                database: stage.database)
            gate.open()
            let events = client.readEvents().filter { $0.data != nil }
            let reset = try #require(events.firstIndex { $0.name == "reset" })
            #expect(events[reset].id == "2~0")
            #expect(events[reset...].map(\.text).joined() == "again")
            #expect(events.last?.id == "2~5-end" && events.last?.name == nil)
            #expect(try stage.read(location, after: "2~5-end").status == 204)
            #expect(try stage.storedReply("app").summary == ["assistant", "again", "complete"])
            // The text of the first process does not end the reply.
            #expect(try stage.read(location, after: "5-end").status == 200)
        }
    }
}
