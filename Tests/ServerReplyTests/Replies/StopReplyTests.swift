import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdServer
import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// `DELETE /replies/:id`.
@Suite(.timeLimit(.minutes(30))) struct StopReplyTests {
    @Test func stoppedReplyReleasesTheModelServerAndEndsForAllReaders() async throws {
        let upstream = try ScriptedUpstream.stalling(after: "Hello")
        try await onStage(upstream: upstream.url) { stage in
            let (client, location) = try stage.begin("app", "x")
            _ = try client.nextDataEvent()
            let other = try stage.follow(location)
            _ = try other.nextDataEvent()

            let stopped = try stage.stop(location)
            #expect(stopped.status == 200)
            #expect(stopped.json as? [String: String] == ["id": String(location.dropFirst(9)), "state": "cancelled"])
            try upstream.waitForClose(of: upstream.requests[0])
            for reader in [client, other] {
                let last = try reader.nextDataEvent()
                #expect(last.name == nil && last.id == "5-end")
                let line = object(last.data ?? "")
                #expect(line["done"] as? Bool == true)
                #expect(line["done_reason"] as? String == "stop")
                #expect(line["state"] as? String == "cancelled")
                #expect(reader.readEvents().isEmpty && reader.bodyEnd == .complete)
            }
            #expect(try stage.storedReply("app").summary == ["assistant", "Hello", "cancelled"])

            // The reply has ended: another stop has no effect, and the reply can be read.
            #expect(try stage.stop(location).json["state"] as? String == "cancelled")
            let again = Transcript(try stage.read(location))
            again.check()
            #expect(again.text == "Hello" && again.outcome == .done)
            let document = try stage.describe(location).json
            #expect(document["state"] as? String == "cancelled" && document["done_reason"] as? String == "stop")
            #expect(try stage.read(location, after: "5-end").status == 204)

            Transcript(try stage.chat("app", "y")).check()
            #expect(upstream.requests.last?.messages == [["user", "x"], ["assistant", "Hello"], ["user", "y"]])
        }
    }

    @Test func stoppedReplyWithoutAStreamHasTheTextSoFar() async throws {
        let upstream = try ScriptedUpstream.stalling(after: "Hello")
        try await onStage(upstream: upstream.url) { stage in
            let key = [("Idempotency-Key", "k")]
            let client = try RawClient(port: stage.port)
            client.post("/llmchat", json: chatBody("app", "x", stream: false), fields: key)
            try upstream.waitForRequests(1)
            let id = try eventually("the reply has a name") {
                try stage.cluster.query("SELECT id FROM chatts WHERE state = 'streaming'", database: stage.database)
                    .first?.first
            }
            try eventually("the text has arrived") {
                let message = try stage.describe("/replies/\(id)").json["message"] as? [String: Any]
                return message?["content"] as? String == "Hello"
            }
            #expect(try stage.stop("/replies/\(id)").status == 200)
            let answer = try client.readResponse()
            #expect(answer.status == 200)
            #expect(answer["Location"] == "/replies/\(id)")
            #expect((answer.json["message"] as? [String: Any])?["content"] as? String == "Hello")
            #expect(answer.json["done_reason"] as? String == "stop")
            #expect(answer.json["state"] as? String == "cancelled")
        }
    }

    @Test func replyIsStoppedFromAnotherProcess() async throws {
        let upstream = try ScriptedUpstream.stalling(after: "Hello")
        try await onStage(upstream: upstream.url) { stage in
            let other = try stage.startAnother()
            defer { #expect(throws: Never.self) { try other.stop() } }
            let (client, location) = try stage.begin("app", "x")
            _ = try client.nextDataEvent()
            let reader = try other.follow(location)
            #expect(try reader.nextDataEvent().text == "Hello")
            let stopped = try other.stop(location)
            #expect(stopped.status == 200)
            #expect(stopped.json["state"] as? String == "cancelled")
            try upstream.waitForClose(of: upstream.requests[0])
            for reader in [client, reader] {
                let last = try reader.nextDataEvent()
                #expect(last.id == "5-end")
                #expect(object(last.data ?? "")["state"] as? String == "cancelled")
            }
        }
    }

    @Test func waitingReplyIsStopped() async throws {
        let upstream = try ScriptedUpstream.stalling(after: "Hello")
        try await onStage(upstream: upstream.url) { stage in
            let (first, firstLocation) = try stage.begin("app", "one")
            _ = try first.nextDataEvent()
            let (second, location) = try stage.begin("app", "two")
            #expect(try stage.stop(location).json["state"] as? String == "cancelled")
            let last = try second.nextDataEvent()
            #expect(last.isLast && last.name == nil && last.id == "0-end")
            #expect(try stage.stop(firstLocation).status == 200)
            Transcript(try stage.chat("app", "three")).check()
            #expect(
                upstream.requests.map(\.messages) == [
                    [["user", "one"]], [["user", "one"], ["assistant", "Hello"], ["user", "three"]],
                ])
        }
    }

    @Test func stopDoesNotChangeAnEndedReply() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            let location = try #require(try stage.chat("app", "x")["Location"])
            let answer = try stage.stop(location)
            #expect(answer.status == 200)
            #expect(answer.json["state"] as? String == "complete")
            #expect(try stage.storedReply("app").summary == ["assistant", "Hello", "complete"])
        }
    }
}
