import ChatterdServer
import Glibc
import TestSupport
import Testing

/// Stops at moments when there is more to it than clients that read.
@Suite(.timeLimit(.minutes(15))) struct StoppingTests {
    @Test func whoWaitsForTheDatabaseStopsAtOnce() async throws {
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

    @Test(.timeLimit(.minutes(10))) func promptsAreTakenDuringShutdownDelay() async throws {
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
            #expect(try client.nextDataEvent().data?.contains("Hello") == true)
            // A second signal does not wait for the delay.
            program.signal(SIGTERM)
            #expect(try program.waitForExit() == 0)
        }
    }

    @Test(.timeLimit(.minutes(10))) func serverStopsAfterShutdownDelay() async throws {
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

    @Test func aReplyWhoseClientHasLeftIsFinishedFirst() async throws {
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
}
