import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdServer
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdServerTestSupport

/// Prompts that wait for a slot of their model server, as their clients see it.
@Suite(.timeLimit(.minutes(30))) struct QueueTests {
    @Test func queuePositionsAreReportedAndPromptsAreAnsweredInTurn() async throws {
        let gate = Gate()
        let upstream = try Self.gated(gate)
        try await Self.onQueue(Self.oneSlot(upstream)) { stage in
            let first = try stage.beginChat("a", "one")
            try upstream.waitForRequests(1)
            let (second, _) = try stage.begin("b", "two", adding: ",\"queue_events\":true")
            #expect(second.nextEvent()?.comments == ["queued, position 1 of 1"])
            let event = try #require(second.nextEvent())
            #expect(event.name == "queue" && event.id == nil)
            let line = object(event.data ?? "")
            #expect(line["queue"] as? NSDictionary == ["upstream": "one", "position": 1, "length": 1])
            #expect(line["model"] as? String == "tiny" && line["done"] as? Bool == false)
            #expect(line["message"] as? NSDictionary == ["role": "assistant", "content": ""])
            #expect(line["created_at"] is String)

            // A client without queue events, and one without a stream.
            let third = try stage.beginChat("c", "three")
            #expect(third.nextEvent()?.comments == ["queued, position 2 of 2"])
            let whole = try RawClient(port: stage.port)
            whole.post("/llmchat", json: chatBody("d", "four", stream: false))
            #expect(second.nextEvent()?.comments.first?.hasPrefix("queued, position 1 of ") == true)
            #expect(upstream.requests.count == 1)

            gate.open()
            for client in [first, second, third] {
                let events = client.readEvents()
                #expect(client.bodyEnd == .complete)
                #expect(events.map(\.text).joined() == "Hello")
                #expect(events.last?.isLast == true && events.last?.name == nil)
                #expect(!events.contains { $0.id == nil && $0.data != nil && $0.name != "queue" })
            }
            #expect((try whole.readResponse().json["message"] as? [String: Any])?["content"] as? String == "Hello")
            #expect(upstream.requests.map { $0.messages.last?[1] } == ["one", "two", "three", "four"])
            try eventually("the queue is empty") { try Self.tickets(stage).isEmpty }
        }
    }

    @Test func oldClientsIgnoreQueuePositions() throws {
        let stream = """
            : queued, position 3 of 17

            event: queue
            data: {"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":""},"done":false,"queue":{"upstream":"one","position":3,"length":17}}

            id: 5
            data: {"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"Hello"},"done":true}


            """
        let client = SeedClient(Array(stream.utf8))
        #expect(client.message == "Hello" && client.errMsg.isEmpty && client.violation == nil)
    }

    @Test(
        arguments: [
            ("", "1", true), (",\"queue_events\":false", "1", false), ("", "0", false),
            (",\"queue_events\":null", "1", true),
        ])
    func queueEventsAreSentOnRequest(_ members: String, _ field: String, _ expected: Bool) async throws {
        let gate = Gate()
        let upstream = try Self.gated(gate)
        try await Self.onQueue(Self.oneSlot(upstream)) { stage in
            _ = try stage.beginChat("a", "one")
            try upstream.waitForRequests(1)
            let client = try RawClient(port: stage.port)
            let body = chatBody("b", "two").dropLast() + members + "}"
            client.post("/llmchat", json: String(body), fields: [("Queue-Events", field)])
            #expect(try client.readHead().status == 200)
            #expect(client.nextEvent()?.comments == ["queued, position 1 of 1"])
            gate.open()
            #expect(client.readEvents().contains { $0.name == "queue" } == expected)
        }
    }

    @Test(arguments: ["2", "true", "1, 1"])
    func invalidQueueEventsValueIsRefused(_ field: String) async throws {
        try await onStage { stage in
            let answer = try stage.ask("app", "x", fields: [("Queue-Events", field)])
            #expect(answer.status == 422 && answer.json["code"] as? String == "invalid_request")
        }
    }

    @Test func promptsBeyondTheQueueLimitAreRefusedAndNotStored() async throws {
        let gate = Gate()
        let upstream = try Self.gated(gate)
        try await Self.onQueue(Self.oneSlot(upstream, "\"queue_limit\":1")) { stage in
            let first = try stage.beginChat("a", "one")
            try upstream.waitForRequests(1)
            let second = try stage.beginChat("b", "two")
            #expect(second.nextEvent()?.comments == ["queued, position 1 of 1"])
            let refused = try stage.chat("c", "three")
            #expect(refused.status == 503 && refused.json["code"] as? String == "overloaded")
            #expect(refused["Retry-After"].flatMap { Int($0) }.map { $0 >= 1 } == true)
            #expect(
                try stage.cluster.query("SELECT count(*) FROM chatts WHERE appid = 'c'", database: stage.database)
                    == [["0"]])
            gate.open()
            _ = (first.readEvents(), second.readEvents())
            Transcript(try stage.chat("c", "three")).check()
        }
    }

    @Test func regenerateCountsAgainstTheQueueLimit() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream(.answer(["Hello"]), Self.gatedAnswer(gate))
        try await Self.onQueue(Self.oneSlot(upstream, "\"queue_limit\":0")) { stage in
            let (first, location) = try stage.begin("a", "one")
            _ = first.readEvents()
            try eventually("its slot is free") { try Self.tickets(stage).isEmpty }
            let running = try stage.beginChat("b", "two")
            try upstream.waitForRequests(2)
            let refused = try RawClient.post(port: stage.port, location + "/regenerate", json: "")
            #expect(refused.status == 503 && refused.json["code"] as? String == "overloaded")
            gate.open()
            _ = running.readEvents()
            try eventually("the slot is free") { try Self.tickets(stage).isEmpty }
            Transcript(try RawClient.post(port: stage.port, location + "/regenerate", json: "")).check()
        }
    }

    @Test func promptAnsweredWithoutTheModelDoesNotCountAgainstTheQueueLimit() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await Self.onQueue(Self.oneSlot(upstream, "\"queue_limit\":0")) { stage in
            let key = [("Idempotency-Key", "k")]
            _ = try stage.ask("a", "one", fields: key)
            for _ in 0..<3 {
                try eventually("the slot is free") { try Self.tickets(stage).isEmpty }
                // The key identifies the prompt, so it needs no slot.
                #expect(try stage.ask("a", "one", fields: key).status == 200)
            }
            #expect(try stage.chat("b", "two").status == 200)
        }
    }

    @Test func stoppedReplyLeavesTheQueue() async throws {
        let gate = Gate()
        let upstream = try Self.gated(gate)
        try await Self.onQueue(Self.oneSlot(upstream)) { stage in
            let first = try stage.beginChat("a", "one")
            try upstream.waitForRequests(1)
            let (second, location) = try stage.begin("b", "two")
            #expect(second.nextEvent()?.comments == ["queued, position 1 of 1"])
            // A reader that joins later gets the queue position, too.
            let reader = try stage.follow(location)
            #expect(reader.nextEvent()?.comments == ["queued, position 1 of 1"])
            #expect(try stage.stop(location).json["state"] as? String == "cancelled")
            for client in [second, reader] {
                #expect(client.readEvents().last?.isLast == true)
            }
            try eventually("it is out of the queue") { try Self.tickets(stage) == ["a"] }
            gate.open()
            _ = first.readEvents()
            #expect(upstream.requests.count == 1)
        }
    }

    @Test func replyOfADeletedConversationLeavesTheQueue() async throws {
        let gate = Gate()
        let upstream = try Self.gated(gate)
        try await Self.onQueue(Self.oneSlot(upstream)) { stage in
            let first = try stage.beginChat("a", "one")
            try upstream.waitForRequests(1)
            let second = try stage.beginChat("b", "two")
            #expect(second.nextEvent()?.comments == ["queued, position 1 of 1"])
            #expect(try stage.send("DELETE", "/conversations/b").status == 200)
            let end = try second.nextDataEvent()
            #expect(end.name == "error" && object(end.data ?? "")["code"] as? String == "conversation_replaced")
            gate.open()
            _ = first.readEvents()
            #expect(upstream.requests.count == 1)
        }
    }

    @Test func processesShareTheQueue() async throws {
        let gate = Gate()
        let upstream = try Self.gated(gate)
        let settings = Self.oneSlot(upstream)
        try await Self.onQueue(settings) { stage in
            let other = try stage.startAnother()
            let first = try stage.beginChat("a", "one")
            try upstream.waitForRequests(1)
            let second = try other.beginChat("b", "two")
            #expect(second.nextEvent()?.comments == ["queued, position 1 of 1"])
            let third = try stage.beginChat("c", "three")
            #expect(third.nextEvent()?.comments == ["queued, position 2 of 2"])
            gate.open()
            for client in [first, second, third] {
                #expect(client.readEvents().map(\.text).joined() == "Hello")
            }
            #expect(upstream.requests.map { $0.messages.last?[1] } == ["one", "two", "three"])
            try other.stop()
        }
    }

    /// Runs a test's body with a program whose lease is prolonged, because tickets of dead processes do not count.
    private static func onQueue(
        _ settings: [Setting: String], _ body: @escaping @Sendable (Stage) throws -> Void
    ) async throws {
        try await onStage(environment: settings) { stage in
            try prolongLeases(in: stage.database, of: stage.cluster)
            try body(stage)
        }
    }

    /// Answers when the gate is open.
    private static func gated(_ gate: Gate) throws -> ScriptedUpstream {
        try ScriptedUpstream(gatedAnswer(gate))
    }

    private static func gatedAnswer(_ gate: Gate) -> [UpstreamStep] {
        [.streamHead, .wait(for: gate), .chunk(ModelLine.token("Hello")), .chunk(ModelLine.done()), .endChunks]
    }

    private static func oneSlot(_ upstream: ScriptedUpstream, _ members: String = "") -> [Setting: String] {
        severalServers(UpstreamOfList("one", upstream, "\"slots\":1" + (members.isEmpty ? "" : "," + members)))
    }

    /// The conversations that have tickets.
    private static func tickets(_ stage: Stage) throws -> [String] {
        try stage.cluster.query(
            "SELECT split_part(appid, E'\\x1f', 1) FROM chatterd_queue ORDER BY appid", database: stage.database
        ).map {
            $0[0]
        }
    }
}
