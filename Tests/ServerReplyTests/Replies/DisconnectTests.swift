import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdServer
import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// Clients that disconnect, and clients that do not read.
@Suite(.timeLimit(.minutes(30))) struct DisconnectTests {
    /// A client that closes may still read. The server notices the disconnect when it sends bytes.
    private let atOnce: [Setting: String] = [.disconnectGrace: "0", .keepAlive: "100ms"]

    @Test(arguments: [true, false])
    func replyIsCancelledAtOnceWithoutAGracePeriod(byReset: Bool) async throws {
        let upstream = try ScriptedUpstream { request in
            request.number == 0 ? [.streamHead, .chunk(ModelLine.token("Hello")), .stall] : .answer(["next"])
        }
        try await onStage(upstream: upstream.url, environment: atOnce) { stage in
            let client = try stage.beginChat("app", "one")
            _ = try client.nextDataEvent()
            if byReset { client.reset() } else { client.close() }
            try upstream.waitForClose(of: upstream.requests[0])
            #expect(try stage.storedReply("app").summary == ["assistant", "Hello", "cancelled"])
            Transcript(try stage.chat("app", "two")).check()
            #expect(upstream.requests.last?.messages == [["user", "one"], ["assistant", "Hello"], ["user", "two"]])
        }
    }

    @Test func replyContinuesDuringTheGracePeriod() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream([
            .streamHead, .chunk(ModelLine.token("Hello")), .wait(for: gate), .chunk(ModelLine.token(" world")),
            .chunk(ModelLine.done()), .endChunks,
        ])
        try await onStage(upstream: upstream.url, environment: [.disconnectGrace: "1h"]) { stage in
            let client = try stage.beginChat("app", "one")
            _ = try client.nextDataEvent()
            client.reset()
            // When the server answers a later request, it has noticed the disconnect.
            #expect(try RawClient.get(port: stage.port, "/healthz").status == 200)
            gate.open()
            #expect(try stage.storedReply("app").summary == ["assistant", "Hello world", "complete"])
            #expect(upstream.requests.count == 1)
        }
    }

    @Test func replyIsCancelledAfterTheGracePeriod() async throws {
        let upstream = try ScriptedUpstream([.streamHead, .chunk(ModelLine.token("Hello")), .stall])
        try await onStage(upstream: upstream.url, environment: [.disconnectGrace: "300ms", .keepAlive: "100ms"]) {
            stage in
            let client = try stage.beginChat("app", "one")
            _ = try client.nextDataEvent()
            client.close()
            try upstream.waitForClose(of: upstream.requests[0])
            #expect(try stage.storedReply("app").summary == ["assistant", "Hello", "cancelled"])
        }
    }

    @Test func halfClosedClientIsAnswered() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream([
            .streamHead, .chunk(ModelLine.token("Hello")), .wait(for: gate), .chunk(ModelLine.done()), .endChunks,
        ])
        try await onStage(upstream: upstream.url, environment: atOnce) { stage in
            let client = try stage.beginChat("app", "one")
            client.halfClose()
            _ = try client.nextDataEvent()
            gate.open()
            #expect(client.readEvents().filter { $0.data != nil }.count == 1)
            #expect(client.bodyEnd == .complete)
            #expect(try stage.storedReply("app").state == "complete")
        }
    }

    @Test func waitingPromptIsCancelledWithItsClient() async throws {
        let upstream = try ScriptedUpstream { request in
            request.number == 0 ? [.streamHead, .chunk(ModelLine.token("Hello")), .stall] : .answer(["next"])
        }
        try await onStage(upstream: upstream.url, environment: atOnce) { stage in
            let first = try stage.beginChat("app", "one")
            _ = try first.nextDataEvent()
            let second = try stage.beginChat("app", "two")
            second.close()
            // The server notices the disconnection when it sends its next comment.
            try eventually("the second prompt is dropped") {
                try stage.rows("app").contains { $0.state == "cancelled" }
            }
            first.close()
            try upstream.waitForClose(of: upstream.requests[0])
            Transcript(try stage.chat("app", "three")).check()
            #expect(
                upstream.requests.last?.messages == [["user", "one"], ["assistant", "Hello"], ["user", "three"]])
        }
    }

    @Test func clientThatDoesNotReadDoesNotDelayOthers() async throws {
        let long = String(repeating: "x", count: 4000)
        let upstream = try ScriptedUpstream { request in
            request.messages.last?.last == "much"
                ? [.streamHead] + (0..<1000).map { _ in .chunk(ModelLine.token(long)) } + [
                    .chunk(ModelLine.done()), .endChunks,
                ]
                : .answer(["quick"])
        }
        try await onStage(upstream: upstream.url, environment: [.unsentLimit: "64KiB"]) { stage in
            let slow = try RawClient(port: stage.port, receiveBuffer: 65_536)
            slow.post("/llmchat", json: chatBody("slow", "much"))
            _ = try slow.readHead()
            for round in 0..<5 {
                #expect(Transcript(try stage.chat("quick\(round)", "x")).text == "quick")
            }
            // The slow client reads later, and gets all the text.
            let words = slow.readEvents().compactMap(\.data).map { data in
                (object(data)["message"] as? [String: Any])?["content"] as? String ?? ""
            }
            #expect(words.joined() == String(repeating: long, count: 1000))
            #expect(slow.bodyEnd == .complete)
            #expect(try stage.storedReply("slow").message.count == 4_000_000)
        }
    }
}
