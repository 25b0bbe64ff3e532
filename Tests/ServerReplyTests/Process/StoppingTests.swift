import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdServer
import ChatterdTestSupport
import Foundation
import Glibc
import Testing

@testable import ChatterdServerTestSupport

/// Stops while the program starts, waits, or has prompts without clients.
@Suite(.timeLimit(.minutes(30))) struct StoppingTests {
    @Test func startThatWaitsForTheDatabaseStopsAtOnce() async throws {
        try await onThread {
            let port = try BoundPort.refusing()
            let program = try TestProgram(
                "chatterd", ["serve"],
                environment: Stage.environment(
                    upstream: "http://127.0.0.1:1", database: "postgresql://nobody@127.0.0.1:\(port.port)/none"))
            try program.waitForLine(containing: "waiting for PostgreSQL")
            program.signal(SIGTERM)
            #expect(try program.waitForExit() == 0)
        }
    }

    @Test(.timeLimit(.minutes(30))) func promptsAreAcceptedDuringShutdownDelay() async throws {
        let upstream = try ScriptedUpstream([
            .streamHead, .chunk(ModelLine.token("Hello")), .chunk(ModelLine.done()), .endChunks,
        ])
        try await onThread {
            let program = try TestProgram(
                "chatterd", ["serve"],
                environment: Stage.environment(
                    upstream: upstream.url, database: try PrivateCluster.shared().makeDatabase(),
                    [.shutdownDelay: "600s"]))
            let port = try program.waitForPort()
            program.signal(SIGTERM)
            try eventually("/readyz says 503") {
                try RawClient.get(port: port, "/readyz").status == 503
            }
            let client = try RawClient(port: port)
            client.post("/llmchat", json: chatBody("app", "one"))
            #expect(try client.readHead().status == 200)
            try client.nextDataEvent(containing: "Hello")
            // A second signal does not wait for the delay.
            program.signal(SIGTERM)
            #expect(try program.waitForExit() == 0)
        }
    }

    @Test(.timeLimit(.minutes(30))) func serverStopsAfterShutdownDelay() async throws {
        try await onThread {
            let program = try TestProgram(
                "chatterd", ["serve"],
                environment: Stage.environment(
                    upstream: "http://127.0.0.1:1", database: try PrivateCluster.shared().makeDatabase(),
                    [.shutdownDelay: "10ms"]))
            _ = try program.waitForPort()
            program.signal(SIGTERM)
            #expect(try program.waitForExit() == 0)
        }
    }

    @Test func replyWithoutAClientIsFinishedBeforeTheStop() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream([
            .streamHead, .chunk(ModelLine.token("Hello")), .wait(for: gate), .chunk(ModelLine.done()), .endChunks,
        ])
        try await onThread {
            let database = try PrivateCluster.shared().makeDatabase()
            let program = try TestProgram(
                "chatterd", ["serve"],
                environment: Stage.environment(
                    upstream: upstream.url, database: database, [.disconnectGrace: "600s", .shutdownLimit: "600s"]))
            let port = try program.waitForPort()
            let client = try RawClient(port: port)
            client.post("/llmchat", json: chatBody("app", "one"))
            _ = try client.readHead()
            _ = try client.nextDataEvent()
            client.reset()
            program.signal(SIGTERM)
            try program.waitForLine(containing: "stopping")
            try eventually("no longer listens", isTrue: { (try? RawClient(port: port)) == nil })
            gate.open()
            #expect(try program.waitForExit() == 0)
            let rows = try StoredRow.all("app", in: database, of: .shared())
            #expect(rows.map(\.summary) == [["user", "one"], ["assistant", "Hello", "complete"]])
        }
    }

    /// The single model server of two processes: it does not answer the first prompt before the gate opens, and answers all others.
    private func silentFirst(_ gate: Gate) throws -> ScriptedUpstream {
        try ScriptedUpstream { request in
            request.number == 0 ? [.wait(for: gate)] : .answer(["made elsewhere"])
        }
    }

    @Test func waitingPromptsAreHandedOverToAnotherProcess() async throws {
        let gate = Gate()
        let upstream = try silentFirst(gate)
        try await onThread {
            let database = try PrivateCluster.shared().makeDatabase()
            let environment = Stage.environment(
                upstream: upstream.url, database: database, [.shutdownLimit: "300ms"])
            let program = try TestProgram("chatterd", ["serve"], environment: environment)
            let port = try program.waitForPort()
            let clients = try ["one", "two"].map { prompt in
                let client = try RawClient(port: port)
                client.post("/llmchat", json: chatBody("app", prompt))
                let head = try client.readHead()
                return (client, location: try #require(head["Location"]))
            }
            try upstream.waitForRequests(1)
            program.signal(SIGTERM)
            for (client, _) in clients {
                let error = try client.nextDataEvent()
                #expect(error.name == "error" && error.id == nil)
                #expect(object(error.data ?? "")["code"] as? String == "shutting_down")
                #expect(client.nextEvent() == nil && client.bodyEnd == .complete)
            }
            #expect(try program.waitForExit() == 0)
            #expect(try StoredRow.all("app", in: database, of: .shared()).allSatisfy { $0.role == "user" })

            let other = try Stage(upstream: upstream.url, database: database)
            defer { #expect(throws: Never.self) { try other.stop() } }
            for (_, location) in clients {
                let answer = try other.read(location)
                #expect(answer.events.map(\.text).joined() == "made elsewhere")
                #expect(answer.events.last { $0.data != nil }?.id?.hasSuffix("-end") == true)
            }
            gate.open()
            #expect(
                try other.rows("app").map(\.summary) == [
                    ["user", "one"], ["assistant", "made elsewhere", "complete"], ["user", "two"],
                    ["assistant", "made elsewhere", "complete"],
                ])
        }
    }

    @Test func hangingDatabaseDoesNotDelayTheStop() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream.answering("Hello", then: " world", behind: gate)
        try await onThread {
            let cluster = try PrivateCluster.make()
            let database = try cluster.makeDatabase()
            // A statement may take ten minutes in the tests.
            let program = try TestProgram(
                "chatterd", ["serve"],
                environment: Stage.environment(
                    upstream: upstream.url, database: database, [.shutdownLimit: "100ms", .storeRetryTimeout: "1s"]))
            let client = try RawClient(port: try program.waitForPort())
            client.post("/llmchat", json: chatBody("app", "one"))
            _ = try client.readHead()
            _ = try client.nextDataEvent()
            let isLocked = "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted"
            let locking = Thread {
                _ = try? cluster.query(
                    "BEGIN; LOCK TABLE chatts, chatterd_processes, chatterd_journal; SELECT pg_sleep(3600)",
                    database: database)
            }
            locking.start()
            try eventually(
                "the tables are locked", isTrue: { try cluster.query(isLocked, database: database) == [["3"]] })
            program.signal(SIGTERM)
            #expect(try program.waitForExit() == 0)
            let rest = client.readEvents().filter { $0.data != nil }
            #expect(rest.allSatisfy { $0.id?.hasSuffix("-end") != true })
            gate.open()
            try cluster.stop(.immediate)
        }
    }
}
