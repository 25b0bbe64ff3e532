import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdServer
import ChatterdTestSupport
import Glibc
import Testing

@testable import ChatterdServerTestSupport

/// Clients that cost as much as possible, against the program as a separate process.
@Suite(.enabled(if: isLongRun, "these tests take minutes: script/test --all")) struct FloodTests {
    private static let mebibyte = 1024 * 1024

    @Test(
        .disabled(if: isSanitized, "the test measures the memory of the program, which a sanitizer multiplies"),
        .timeLimit(.minutes(30)))
    func unreadResponsesCostNoMemory() async throws {
        try await onThread {
            // With one shard, an answer to another peer shows that this peer was served before.
            let (program, port) = try start([.shards: "1"])
            let before = try program.peakMemory()
            let unit = Array("GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
            let clients = try (0..<4).map { _ in try RawClient(port: port, receiveBuffer: 4096) }
            for client in clients {
                let sent = try client.connection.flood(with: unit, upTo: 128 * Self.mebibyte) {
                    let exchange = try RawClient.get(port: port, "/healthz")
                    #expect(exchange.status == 200)
                }
                #expect(sent < 128 * Self.mebibyte)
            }
            let grown = try program.peakMemory() - before
            #expect(grown < 16 * Self.mebibyte)
            for client in clients { client.close() }
            program.signal(SIGTERM)
            #expect(try program.waitForExit() == 0)
        }
    }

    @Test(.timeLimit(.minutes(30)))
    func bodiesForUnknownRoutesCostNoMemory() async throws {
        try await onThread {
            let (program, port) = try start()
            let body = [UInt8](repeating: 120, count: 8 * Self.mebibyte - 1)
            let clients = try (0..<40).map { _ in
                let client = try RawClient(port: port)
                client.send(
                    "POST /nothing-here HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.count + 1)\r\n\r\n")
                #expect(try client.readResponse().status == 404)
                return client
            }
            #expect(
                try RawClient.post(port: port, "/llmprep", json: chatBody("app", "seed", role: "system")).status == 200)
            // The lingering close reads the remaining bytes and drops them.
            for client in clients { client.send(body) }
            #expect(
                try RawClient.post(port: port, "/llmprep", json: chatBody("app", "seed", role: "system")).status == 200)
            let peak = try program.peakMemory()
            #expect(peak < 128 * Self.mebibyte)
            program.signal(SIGTERM)
            #expect(try program.waitForExit() == 0)
        }
    }

    @Test(.timeLimit(.minutes(30)))
    func unfinishedBodiesEndAtTheTimeout() async throws {
        try await onThread {
            let (program, port) = try start([.bodyTimeout: "200ms", .bodyMinimumRate: "1KiB"])
            let body = [UInt8](repeating: 120, count: 2 * Self.mebibyte - 1)
            let clients = try (0..<8).map { _ in
                let client = try RawClient(port: port)
                client.send("POST /llmchat HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.count + 1)\r\n\r\n")
                client.send(body)
                return client
            }
            // At the minimum rate, the received bytes allow half an hour.
            for client in clients {
                let exchange = try client.readResponse()
                #expect(exchange.status == 408)
                #expect(exchange.json["code"] as? String == "body_timeout")
            }
            program.signal(SIGTERM)
            #expect(try program.waitForExit() == 0)
        }
    }

    @Test(.timeLimit(.minutes(30)))
    func modelNameCostsNoMemory() async throws {
        let upstream = try ScriptedUpstream.answering((0..<300).map { "t\($0) " })
        try await onThread {
            let (program, port) = try start(upstream: upstream.url)
            let before = try program.peakMemory()
            for _ in 0..<3 {
                let long = String(repeating: "m", count: 4_000_000)
                let refused = try RawClient.post(port: port, "/llmchat", json: chatBody("app", "Hi", model: long))
                #expect(refused.status == 422)
                #expect((refused.json["error"] as? String)?.contains("at most 256") == true)
            }
            let longest = String(repeating: "m", count: 256)
            Transcript(try RawClient.post(port: port, "/llmchat", json: chatBody("app", "Hi", model: longest))).check()
            let grown = try program.peakMemory() - before
            #expect(grown < 64 * Self.mebibyte)
            program.signal(SIGTERM)
            #expect(try program.waitForExit() == 0)
        }
    }

    @Test(
        .disabled(if: isSanitized, "the test measures the memory of the program, which a sanitizer multiplies"),
        .timeLimit(.minutes(30)))
    func wholeAnswersStayWithinTheBudget() async throws {
        let words = String(repeating: "x", count: 32_768)
        let (pieces, readers) = (128, 24)
        let gate = Gate()
        let upstream = try ScriptedUpstream { _ in
            [.streamHead] + (0..<pieces).map { _ in .chunk(ModelLine.token(words)) }
                + [.wait(for: gate), .chunk(ModelLine.done()), .endChunks]
        }
        try await onThread {
            let (program, port) = try start([.memory: "64MiB"], upstream: upstream.url)
            let clients = try (0..<readers).map { number in
                let client = try RawClient(port: port)
                client.post("/llmchat", json: chatBody("app\(number)", "much", stream: false))
                return client
            }
            // All answers are in memory at once: 96 MiB, and three times that for their copies.
            try upstream.waitForRequests(readers)
            gate.open()
            var refused = 0
            for client in clients {
                let answer = try client.readResponse(of: "POST")
                let location = try #require(answer["Location"])
                if answer.status == 200 {
                    let message = answer.json["message"] as? [String: Any]
                    #expect((message?["content"] as? String)?.utf8.count == pieces * words.utf8.count)
                } else {
                    #expect(answer.status == 503 && answer.json["code"] as? String == "overloaded")
                    #expect(try Self.lengthOfText(at: location, port: port) == pieces * words.utf8.count)
                    refused += 1
                }
            }
            #expect(refused > 0)
            program.signal(SIGTERM)
            #expect(try program.waitForExit() == 0)
        }
    }

    /// Bodies have half of the budget, those of one app half of that, and those with a credential that is not verified a quarter of it.
    @Test(.disabled(if: isSanitized, "a sanitizer multiplies the memory of the program"), .timeLimit(.minutes(30)))
    func unfinishedBodiesOfAnAppLeaveRoomForOthers() async throws {
        let upstream = try ScriptedUpstream { _ in .answer(["Hello"]) }
        try await onThread {
            let (program, port) = try start(
                withKeys.merging([.memory: "256MiB", .shards: "1"]) { $1 }, upstream: upstream.url)
            func bearer(_ credential: String) -> [(String, String)] { [("Authorization", "Bearer \(credential)")] }
            let keys = try ["shop", "other"].map { app in
                let made = try RawClient.post(
                    port: port, "/keys", json: "{\"app\":\"\(app)\"}", fields: bearer(testAdminToken))
                return try #require(made.json["key"] as? String)
            }
            func status(_ json: String, _ credential: String) throws -> Int {
                try RawClient.post(port: port, "/llmchat", json: json, fields: bearer(credential)).status
            }
            let blank = String(repeating: " ", count: 2 * Self.mebibyte)
            let unknown = String(keys[0].dropLast()) + (keys[0].hasSuffix("A") ? "B" : "A")
            let first = try [keys[0], keys[1], unknown].map { try status(blank, $0) }
            #expect(first == [422, 422, 401])
            for (credential, share) in [(keys[0], 64), (unknown, 32)] {
                func beginBody() throws -> RawClient {
                    let client = try RawClient(port: port)
                    client.send(
                        "POST /llmchat HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(credential)\r\n"
                            + "Content-Length: \(Self.mebibyte + 1)\r\n\r\n")
                    client.send([UInt8](repeating: 120, count: Self.mebibyte))
                    return client
                }
                var unfinished = try (0..<share - 2).map { _ in try beginBody() }
                try eventually("the share is used") {
                    unfinished.append(try beginBody())
                    return try status(blank, credential) == 503
                }
                let long = chatBody("other", String(repeating: "x", count: 3 * Self.mebibyte))
                #expect(try status(long, keys[1]) == 200)
                for client in unfinished { client.close() }
            }
            program.signal(SIGTERM)
            #expect(try program.waitForExit() == 0)
        }
    }

    /// The bytes of a reply's text, read over several connections: the server cuts some off when memory is short.
    private static func lengthOfText(at location: String, port: Int) throws -> Int {
        var (length, last) = (0, String?.none)
        try eventually(
            "the reply is read to its end",
            isTrue: {
                let client = try RawClient(port: port)
                client.request("GET", location, fields: last.map { [("Last-Event-ID", $0)] } ?? [])
                guard try client.readHead().status == 200 else { return false }
                for event in client.readEvents() {
                    guard let id = event.id, let data = event.data else { continue }
                    let message = object(data)["message"] as? [String: Any]
                    length += (message?["content"] as? String)?.utf8.count ?? 0
                    last = id
                }
                return last?.hasSuffix("-end") == true
            })
        return length
    }

    private func start(
        _ environment: [Setting: String] = [:], upstream: String = "http://127.0.0.1:9"
    ) throws -> (TestProgram, Int) {
        let database = try PrivateCluster.shared().makeDatabase()
        let program = try TestProgram(
            "chatterd", ["serve"],
            environment: Stage.environment(upstream: upstream, database: database, environment))
        return (program, try program.waitForPort())
    }
}
