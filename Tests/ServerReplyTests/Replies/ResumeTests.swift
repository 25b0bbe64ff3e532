import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdServer
import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// Clients that lose their connection and come back, here or at another process.
@Suite(.timeLimit(.minutes(30))) struct ResumeTests {
    /// Reads a reply with a cut after every few events, and gives the text and the last event.
    private func readWithCuts(
        _ location: String, every count: Int, at stages: [Stage], opening gates: [Gate]
    ) throws -> (text: String, last: ServerEvent) {
        var text = ""
        var id: String?
        for round in 0..<10_000 {
            let client = try stages[round % stages.count].follow(location, after: id)
            for _ in 0..<count {
                gates.first { !$0.isOpen }?.open()
                let event = try client.nextDataEvent()
                #expect(event.name == nil)
                text += event.text
                id = event.id
                if event.isLast { return (text, event) }
            }
            client.reset()
        }
        throw TestFailure("the reply has not ended")
    }

    @Test(arguments: [1, 3]) func everyCutStreamIsResumed(every count: Int) async throws {
        let tokens = (0..<60).map { "t\($0) é\u{1f600} " }
        let gates = tokens.map { _ in Gate() }
        let upstream = try ScriptedUpstream(
            [.streamHead] + zip(tokens, gates).flatMap { [.wait(for: $1), .chunk(ModelLine.token($0))] }
                + [.chunk(ModelLine.done()), .endChunks])
        try await onStage(upstream: upstream.url) { stage in
            let other = try stage.startAnother()
            defer { #expect(throws: Never.self) { try other.stop() } }
            let (client, location) = try stage.begin("app", "x")
            for gate in gates.prefix(20) { gate.open() }
            _ = try client.nextDataEvent()
            let (text, last) = try readWithCuts(location, every: count, at: [stage, other], opening: gates)
            #expect(text == tokens.joined())
            #expect(last.id == "\(text.utf8.count)-end")
            #expect(try stage.storedReply("app").text == text)
            #expect(upstream.requests.count == 1)
        }
    }

    @Test func runningReplyIsReadOnAnotherProcess() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream.answering("Hello", then: " world", behind: gate)
        try await onStage(upstream: upstream.url) { stage in
            let other = try stage.startAnother()
            defer { #expect(throws: Never.self) { try other.stop() } }
            let (client, location) = try stage.begin("app", "x")
            let reader = try other.follow(location)
            #expect(try reader.nextDataEvent().text == "Hello")
            gate.open()
            #expect(try reader.nextDataEvent().text == " world")
            #expect(try reader.nextDataEvent().id == "11-end")
            #expect(reader.readEvents().isEmpty && reader.bodyEnd == .complete)
            #expect(client.readEvents().last?.id == "11-end")
            #expect(Transcript(try other.read(location)).text == "Hello world")
        }
    }

    @Test func readerThatComesBackKeepsTheReplyRunning() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream.answering("Hello", then: " world", behind: gate)
        try await onStage(upstream: upstream.url, environment: [.keepAlive: "100ms"]) { stage in
            let (client, location) = try stage.begin("app", "x", adding: ",\"on_disconnect\":\"cancel\"")
            let id = try client.nextDataEvent().id
            let reader = try stage.follow(location, after: id)
            client.reset()
            #expect(try RawClient.get(port: stage.port, "/healthz").status == 200)
            gate.open()
            #expect(reader.readEvents().filter { $0.data != nil }.map(\.text) == [" world", ""])
            #expect(try stage.storedReply("app").summary == ["assistant", "Hello world", "complete"])
        }
    }

    @Test(arguments: [
        (",\"on_disconnect\":\"cancel\"", ""), (",\"on_disconnect\":0", "finish"), ("", "cancel"), ("", "0"),
    ])
    func clientCanRequestCancellationOnDisconnect(member: String, field: String) async throws {
        let upstream = try ScriptedUpstream.stalling(after: "Hello")
        try await onStage(upstream: upstream.url, environment: [.keepAlive: "100ms"]) { stage in
            let client = try RawClient(port: stage.port)
            let fields = field.isEmpty ? [] : [("On-Disconnect", field)]
            client.post("/llmchat", json: String(chatBody("app", "x").dropLast() + member + "}"), fields: fields)
            _ = try client.readHead()
            _ = try client.nextDataEvent()
            client.reset()
            try upstream.waitForClose(of: upstream.requests[0])
            #expect(try stage.storedReply("app").summary == ["assistant", "Hello", "cancelled"])
        }
    }

    @Test func clientCanRequestThatTheReplyFinishes() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream.answering("Hello", then: " world", behind: gate)
        try await onStage(upstream: upstream.url, environment: [.disconnectGrace: "0", .keepAlive: "100ms"]) { stage in
            let (client, location) = try stage.begin("app", "x", adding: ",\"on_disconnect\":\"finish\"")
            _ = try client.nextDataEvent()
            client.reset()
            #expect(try RawClient.get(port: stage.port, "/healthz").status == 200)
            gate.open()
            #expect(try stage.storedReply("app").summary == ["assistant", "Hello world", "complete"])
            #expect(Transcript(try stage.read(location)).text == "Hello world")
        }
    }

    @Test(arguments: ["soon", "-1", "1.5", "86401", ""])
    func invalidDisconnectPolicyIsRefused(field: String) async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            let answer = try stage.ask("app", "x", fields: [("On-Disconnect", field)])
            #expect(answer.status == 422)
            #expect(answer.json["code"] as? String == "invalid_request")
            #expect(upstream.requests.isEmpty)
        }
    }

    @Test func resumedStreamHasKeepAliveComments() async throws {
        let upstream = try ScriptedUpstream.stalling(after: "Hello")
        try await onStage(upstream: upstream.url, environment: [.keepAlive: "100ms"]) { stage in
            let (_, location) = try stage.begin("app", "x")
            let reader = try stage.follow(location)
            _ = try reader.nextDataEvent()
            #expect(reader.nextEvent()?.comments == ["keep-alive"])
            #expect(try stage.stop(location).status == 200)
        }
    }
}
