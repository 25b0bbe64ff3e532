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

/// The program as a process: signals, crashes, several of them on one database, and its log.
@Suite(.timeLimit(.minutes(30))) struct ProcessTests {
    @Test func sigtermLetsRunningRepliesFinish() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream(script(gate))
        try await onThread {
            let (program, port, database) = try start(upstream, [.shutdownLimit: "600s"])
            let client = try RawClient(port: port)
            client.post("/llmchat", json: chatBody("app", "one"))
            _ = try client.readHead()
            _ = try client.nextDataEvent()
            program.signal(SIGTERM)
            try eventually("no longer ready", isTrue: { isNotReady(port) })
            gate.open()
            let rest = client.readEvents().filter { $0.data != nil }
            #expect(rest.map(\.name) == [nil])
            #expect(client.bodyEnd == .complete)
            #expect(try program.waitForExit() == 0)
            #expect(
                try StoredRow.all("app", in: database, of: .shared()).map(\.summary) == [
                    ["user", "one"], ["assistant", "Hello", "complete"],
                ])
        }
    }

    @Test func shutdownLimitEndsTheOtherRepliesWithAnError() async throws {
        let upstream = try ScriptedUpstream(script(Gate()))
        try await onThread {
            let (program, port, database) = try start(upstream, [.shutdownLimit: "300ms"])
            let client = try RawClient(port: port)
            client.post("/llmchat", json: chatBody("app", "one"))
            _ = try client.readHead()
            _ = try client.nextDataEvent()
            program.signal(SIGTERM)
            let end = try client.nextDataEvent()
            #expect(end.name == "error")
            #expect(object(end.data ?? "")["code"] as? String == "shutting_down")
            #expect(object(end.data ?? "")["retryable"] as? Bool == true)
            #expect(client.nextEvent() == nil && client.bodyEnd == .complete)
            #expect(try program.waitForExit() == 0)
            #expect(
                try StoredRow.all("app", in: database, of: .shared()).map(\.summary) == [
                    ["user", "one"], ["assistant", "Hello", "interrupted"],
                ])
        }
    }

    @Test func secondSIGTERMEndsTheProcessAtOnce() async throws {
        let upstream = try ScriptedUpstream(script(Gate()))
        try await onThread {
            let (program, port, _) = try start(upstream, [.shutdownLimit: "600s"])
            let client = try RawClient(port: port)
            client.post("/llmchat", json: chatBody("app", "one"))
            _ = try client.readHead()
            _ = try client.nextDataEvent()
            program.signal(SIGTERM)
            try eventually("no longer ready", isTrue: { isNotReady(port) })
            program.signal(SIGTERM)
            _ = try program.waitForExit()
            _ = client.readEvents()
            #expect(client.bodyEnd != .silence)
        }
    }

    @Test func killedProcessLosesNoPromptAndItsTurnIsSettled() async throws {
        let upstream = try ScriptedUpstream(.answer(["first"]), script(Gate()), .answer(["third"]))
        try await onThread {
            let (program, port, database) = try start(upstream)
            Transcript(try RawClient.post(port: port, "/llmchat", json: chatBody("app", "one"))).check()
            let client = try RawClient(port: port)
            client.post("/llmchat", json: chatBody("app", "two"))
            _ = try client.readHead()
            _ = try client.nextDataEvent()
            program.signal(SIGKILL)
            #expect(try program.waitForExit() == -SIGKILL)

            let (second, newPort, _) = try start(upstream, database: database)
            Transcript(try RawClient.post(port: newPort, "/llmchat", json: chatBody("app", "three"))).check()
            let rows = try StoredRow.all("app", in: database, of: .shared())
            // What the journal had of the second reply depends on the time that it ran.
            #expect(upstream.requests.last?.messages == rows.dropLast().replayed)
            #expect(rows.filter { $0.role == "user" }.map(\.text) == ["one", "two", "three"])
            #expect(rows.compactMap(\.state) == ["complete", "interrupted", "complete"])
            second.signal(SIGTERM)
            #expect(try second.waitForExit() == 0)
        }
    }

    @Test func twoProcessesKeepTheOrderOfAConversation() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream(script(gate), .answer(["second"]))
        try await onThread {
            let (one, firstPort, database) = try start(upstream)
            let (two, secondPort, _) = try start(upstream, database: database)
            try prolongLeases(in: database, of: .shared())
            let first = try RawClient(port: firstPort)
            first.post("/llmchat", json: chatBody("app", "one"))
            _ = try first.readHead()
            _ = try first.nextDataEvent()
            let second = try RawClient(port: secondPort)
            second.post("/llmchat", json: chatBody("app", "two"))
            #expect(try second.readHead().status == 200)
            #expect(upstream.requests.count == 1)
            gate.open()
            #expect(first.readEvents().filter { $0.data != nil }.count == 1)
            #expect(second.readEvents().filter { $0.data != nil }.count == 2)
            #expect(upstream.requests.last?.messages == [["user", "one"], ["assistant", "Hello"], ["user", "two"]])
            for program in [one, two] {
                program.signal(SIGTERM)
                #expect(try program.waitForExit() == 0)
            }
        }
    }

    @Test func logHasOneLineForEachRequestAndNoText() async throws {
        let upstream = try ScriptedUpstream(.answer(["reply-words"]), .error(500, "model-words"))
        try await onThread {
            let (program, port, _) = try start(upstream)
            for _ in 0..<2 {
                _ = try RawClient.post(
                    port: port, "/llmchat", json: chatBody("app-secret", "prompt-words"),
                    fields: [("X-Request-Id", "id-of-chat"), ("Authorization", "Bearer token-secret")])
            }
            _ = try RawClient.post(port: port, "/llmchat", json: "{\"appID\":\"app-secret\",\"prompt-words")
            _ = try RawClient.post(
                port: port, "/postchatt", json: "{\"name\":\"name-secret\",\"message\":\"prompt-words\"}")
            _ = try RawClient.get(port: port, "/nowhere?q=prompt-words")
            program.signal(SIGTERM)
            #expect(try program.waitForExit() == 0)

            let lines = program.lines.filter { $0.hasPrefix("{") }.map { object($0) }
            let requests = lines.filter { $0["route"] != nil }
            #expect(requests.count == 5)
            #expect(requests.filter { $0["id"] as? String == "id-of-chat" }.count == 2)
            #expect(requests.compactMap { $0["status"] as? Int } == [200, 200, 422, 200, 404])
            let log = program.lines.joined(separator: "\n")
            for secret in ["prompt-words", "reply-words", "app-secret", "name-secret", "token-secret"] {
                #expect(!log.contains(secret), "\(secret) is in the log")
            }
        }
    }

    @Test func allWrongSettingsAreReportedTogether() async throws {
        try await onThread {
            let program = try TestProgram(
                "chatterd", ["serve"],
                environment: [
                    "CHATTERD_LISTEN": "nonsense", "CHATTERD_NO_SUCH": "1", "CHATTERD_DISCONNECT_GRACE": "soon",
                ])
            #expect(try program.waitForExit() == 1)
            let said = program.lines.joined(separator: "\n")
            for name in ["CHATTERD_LISTEN", "CHATTERD_NO_SUCH", "CHATTERD_DISCONNECT_GRACE"] {
                #expect(said.contains(name), "\(said)")
            }
        }
    }

    private func script(_ gate: Gate) -> [UpstreamStep] {
        [.streamHead, .chunk(ModelLine.token("Hello")), .wait(for: gate), .chunk(ModelLine.done()), .endChunks]
    }

    private func start(
        _ upstream: ScriptedUpstream, _ environment: [Setting: String] = [:], database: String? = nil
    ) throws -> (TestProgram, Int, String) {
        let database = try database ?? PrivateCluster.shared().makeDatabase()
        let program = try TestProgram(
            "chatterd", ["serve"],
            environment: Stage.environment(upstream: upstream.url, database: database, environment))
        return (program, try program.waitForPort(), database)
    }

    private func isNotReady(_ port: Int) -> Bool {
        // A refused connection counts like a status.
        (try? RawClient.get(port: port, "/readyz").status) != 200
    }
}
