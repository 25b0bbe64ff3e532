import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdSockets
import ChatterdTestSupport
import Testing

/// Broken requests get their status and the end of the connection, however their bytes arrive.
@Suite(.timeLimit(.minutes(30))) struct RefusalTests {
    private static let cases: [(request: String, status: Int, code: String)] = [
        ("GET / HTTP/1.1\r\n\r\n", 400, "missing_host"),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400, "duplicate_host"),
        ("GET / HTTP/1.1\nHost: a\r\n\r\n", 400, "bare_line_feed"),
        ("GET /  HTTP/1.1\r\nHost: a\r\n\r\n", 400, "malformed_request_line"),
        ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505, "unsupported_version"),
        ("GET /../etc HTTP/1.1\r\nHost: a\r\n\r\n", 400, "unsafe_path"),
        ("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 501, "connect_refused"),
        ("GET / HTTP/1.1\r\nHost: a\r\n folded: x\r\n\r\n", 400, "folded_field"),
        ("GET / HTTP/1.1\r\nHost: a\r\nA : x\r\n\r\n", 400, "malformed_field_name"),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", 400, "duplicate_length"),
        (
            "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400,
            "length_and_encoding"
        ),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501, "unknown_transfer_coding"),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", 400, "malformed_chunk_size"),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab", 400, "malformed_chunk_end"),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n", 413, "body_too_large"),
        (
            "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n"
                + String(repeating: "x", count: 1000) + "\r\n1\r\nx\r\n", 413, "body_too_large"
        ),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: tea\r\n\r\n", 417, "unknown_expectation"),
        ("GET /" + String(repeating: "x", count: 9000) + " HTTP/1.1\r\n", 414, "request_line_too_long"),
        ("GET / HTTP/1.1\r\nA: " + String(repeating: "x", count: 17_000) + "\r\n", 431, "field_too_large"),
    ]

    @Test(arguments: cases.indices)
    func malformedRequestGetsItsStatusAndTheEnd(index: Int) async throws {
        let (request, status, code) = Self.cases[index]
        var limits = Limits.longTimeouts
        limits.body.body = 1000
        let test = try TestServer(limits: limits) { $0.addUsualRoutes() }
        try await blocking {
            let bytes = Array(request.utf8)
            for size in [bytes.count, (bytes.count + 1) / 2, bytes.count > 2000 ? 100 : 1] {
                let client = try RawClient(port: test.port)
                // Further bytes must not become a request.
                client.connection.send(bytes, inPiecesOf: size)
                client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                let exchange = try client.readResponse()
                #expect(exchange.status == status)
                #expect(exchange["connection"] == "close")
                #expect(exchange.json["code"] as? String == code)
                #expect((exchange.json["error"] as? String)?.isEmpty == false)
                let (rest, end) = client.readToEnd()
                #expect(rest.isEmpty)
                #expect(end == .cut)
            }
        }
        #expect(try test.records(3).allSatisfy { $0.outcome == .refused(code) })
    }

    @Test func truncatedRequestIsRefusedAsSuch() async throws {
        let test = try TestServer { $0.addUsualRoutes() }
        for request in ["GET / HT", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc"] {
            let (text, end) = try await blocking { try test.answer(to: request) }
            #expect(text.hasPrefix("HTTP/1.1 400 "))
            #expect(text.contains("\"truncated\""))
            #expect(end == .cut)
        }
    }

    @Test func continueIsSentOnlyForAWantedBody() async throws {
        let test = try TestServer { $0.addUsualRoutes() }
        let expecting = [("Expect", "100-continue"), ("Content-Length", "3")]
        try await blocking {
            let wanted = try RawClient(port: test.port)
            wanted.request("POST", "/echo", fields: expecting)
            #expect(try wanted.readHead().status == 100)
            wanted.send("abc")
            #expect(try wanted.readResponse().text == "abc")

            for (path, status) in [("/nowhere", 404), ("/", 405)] {
                let unwanted = try RawClient(port: test.port)
                unwanted.request("POST", path, fields: expecting)
                let exchange = try unwanted.readResponse()
                #expect(exchange.status == status)
                #expect(exchange["connection"] == "close")
                #expect(unwanted.readToEnd().end == .cut)
            }

            let large = try RawClient(port: test.port)
            large.request("POST", "/echo", fields: [("Expect", "100-continue"), ("Content-Length", "99999999")])
            #expect(try large.readResponse().status == 413)
        }
    }

    @Test(arguments: [
        ("POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999999\r\n\r\nab", 404),
        ("PUT /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nab", 405),
        ("DELETE /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab", 405),
    ])
    func bodyThatMakesNoDifferenceIsNotAwaited(request: String, status: Int) async throws {
        let test = try TestServer { $0.addUsualRoutes() }
        try await blocking {
            let client = try RawClient(port: test.port)
            client.send(request)
            let exchange = try client.readResponse()
            #expect(exchange.status == status)
            #expect(exchange["connection"] == "close")
            #expect(client.readToEnd().end == .cut)
        }
    }

    @Test func bodyThatMakesNoDifferenceButIsHereKeepsTheConnection() async throws {
        let test = try TestServer { $0.addUsualRoutes() }
        try await blocking {
            let client = try RawClient(port: test.port)
            client.send(
                "PUT /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try client.readResponse().status == 405)
            #expect(try client.readResponse().text == "hello")
        }
        #expect(try test.records(2)[0].bytesIn == 53)
    }

    @Test(arguments: [
        "HEAD / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "HEAD / HTTP/2.0\r\nHost: a\r\n\r\n",
        "\r\nHEAD /../etc HTTP/1.1\r\nHost: a\r\n\r\n", "HEAD / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
        "HEAD / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", "HEAD /nowhere HTTP/1.1\r\nHost: a\r\n\r\n",
        "HEAD /\u{1} HTTP/1.1\r\nHost: a\r\n\r\n", "HEAD / HT",
    ])
    func refusedHeadHasNoBody(request: String) async throws {
        let test = try TestServer { $0.addUsualRoutes() }
        let (text, end) = try await blocking { try test.answer(to: request) }
        #expect(text.hasPrefix("HTTP/1.1 "))
        #expect(text.contains("content-length: "))
        #expect(text.hasSuffix("\r\n\r\n"))
        #expect(end == .cut)
    }

    @Test(arguments: ["HEA / HTTP/2.0\r\n\r\n", "HEAD", "HEAD\r\n\r\n", "HEAD\t/ HTTP/1.1\r\n\r\n"])
    func refusalOfAnUnknownMethodHasABody(request: String) async throws {
        let test = try TestServer { $0.addUsualRoutes() }
        let (text, _) = try await blocking { try test.answer(to: request) }
        #expect(text.hasSuffix("}\n"))
    }

    /// Without a lingering close the bytes still under way would answer with a reset, which overtakes the response.
    @Test func senderOfALargeBodyReadsTheRefusal() async throws {
        var limits = Limits.longTimeouts
        limits.body.body = 8 * 1024 * 1024
        let test = try TestServer(limits: limits) { $0.addUsualRoutes() }
        try await blocking {
            let client = try RawClient(port: test.port)
            let length = 12 * 1024 * 1024
            client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n\r\n")
            let wasTaken = client.connection.send([UInt8](repeating: 120, count: length))
            #expect(wasTaken)
            let exchange = try client.readResponse()
            #expect(exchange.status == 413)
            #expect(exchange.end == .complete)
        }
    }

    /// What a client has sent of the largest body beyond the limit is discarded, so that it reads the refusal.
    @Test func moreIsDiscardedThanAnyBodyHas() {
        let limits = Limits()
        #expect(limits.lingeringBytes > limits.body.body)
    }

    @Test func bodiesTogetherAreLimited() async throws {
        // Bodies may fill half of the budget.
        let memory = MemoryBudget(limit: 4 << 20)
        let test = try TestServer(memory: memory) { $0.addUsualRoutes() }
        try await blocking {
            for _ in 0..<3 {
                let refused = try RawClient(port: test.port)
                refused.request("POST", "/echo", body: [UInt8](repeating: 120, count: 2 << 20 + 1))
                let exchange = try refused.readResponse()
                #expect(exchange.status == 503)
                #expect(exchange.json["code"] as? String == "overloaded")
                #expect((exchange.json["error"] as? String)?.contains("CHATTERD_MEMORY, 4 MiB") == true)
                #expect(exchange["retry-after"] == "1")
                // The reservation is released with its request.
                let served = try RawClient(port: test.port)
                for _ in 0..<3 {
                    served.request("POST", "/echo", body: [UInt8](repeating: 120, count: 1 << 20))
                    #expect(try served.readResponse().body.count == 1 << 20)
                }
            }
        }
        try eventually("all memory is released", isTrue: { memory.reservedBytes == 0 })
    }

    /// The long bodies of one account may fill a quarter of the budget, finished or not.
    @Test func unfinishedBodiesOfAnAccountAreLimited() async throws {
        let memory = MemoryBudget(limit: 4 << 20)
        let accounts = ["a": MemoryAccount(in: memory), "b": MemoryAccount(in: memory)]
        let asked = Lock(0)
        let test = try TestServer(
            memory: memory,
            bodyAccount: { head, _ in
                asked.withLock { $0 += 1 }
                return accounts[head.target.path == "/echo" ? "a" : "b"]
            },
            { router in
                router.addUsualRoutes()
                router.on(.post, "/other") { request, responder in
                    responder.respond(.ok, body: Array("\(request.body.count)".utf8))
                }
            })
        let (long, kibi) = (900 << 10, 1 << 10)
        try await blocking {
            func send(_ count: Int, to path: String = "/echo") throws -> HTTPExchange {
                let client = try RawClient(port: test.port)
                client.request("POST", path, body: [UInt8](repeating: 120, count: count))
                return try client.readResponse()
            }
            let unfinished = try RawClient(port: test.port)
            unfinished.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: \(long + 1)\r\n\r\n")
            unfinished.send([UInt8](repeating: 120, count: long))
            try eventually("the body is here", isTrue: { accounts["a"]?.reservedBytes == long })
            #expect(asked.withLock { $0 } == 1)
            let refused = try send(200 * kibi)
            #expect(refused.status == 503 && refused.json["code"] as? String == "overloaded")
            #expect(try send(200 * kibi, to: "/other").text == "\(200 * kibi)")
            #expect(asked.withLock { $0 } == 3)
            // A short body has a place, and needs no account.
            #expect(try send(32 * kibi).body.count == 32 * kibi)
            #expect(asked.withLock { $0 } == 3)
            unfinished.close()
            try eventually("the body is gone", isTrue: { accounts["a"]?.reservedBytes == 0 })
            #expect(try send(long).body.count == long)
        }
        try eventually("all memory is released", isTrue: { memory.reservedBytes == 0 })
    }

    /// Many responses may grow within one turn of a shard, before any of them is sent.
    @Test func outputOfOneTurnIsReserved() async throws {
        let memory = MemoryBudget(limit: 4 << 20)
        let reserved = Lock(0)
        let test = try TestServer(memory: memory) { router in
            router.on(.get, "/stream") { _, responder in
                let stream = responder.stream(.ok)
                for _ in 0..<8 {
                    stream.write { $0.append([UInt8](repeating: 120, count: 16_384)) }
                }
                reserved.withLock { $0 = memory.reservedBytes }
                stream.finish()
            }
        }
        try await blocking {
            let client = try RawClient(port: test.port)
            client.request("GET", "/stream")
            #expect(try client.readResponse().body.count == 8 * 16_384)
        }
        #expect(reserved.withLock { $0 } >= 4 * 16_384)
        try eventually("the memory is released", isTrue: { memory.reservedBytes == 0 })
    }

    /// A response with a reservation is not cut off while other clients get no memory.
    @Test func reservedResponseIsSentWithAnExhaustedBudget() async throws {
        let memory = MemoryBudget(limit: 8 << 20)
        let size = 6 << 20
        let others = Lock(MemoryReservation?.none)
        let test = try TestServer(memory: memory) { router in
            router.on(.get, "/large") { _, responder in
                guard let held = memory.reserve(8 << 20, for: .output) else { return }
                var body = ByteBuffer(capacity: size)
                body.append([UInt8](repeating: 120, count: size))
                others.withLock { $0 = memory.charge(memory.limit) }
                responder.respond(.ok, body: body, memory: held)
            }
        }
        try await blocking {
            let client = try RawClient(port: test.port)
            client.request("GET", "/large")
            #expect(try client.readResponse().body.count == size)
        }
        others.withLock { $0 = nil }
        try eventually("the memory is released", isTrue: { memory.reservedBytes == 0 })
    }

    /// A handler can release the memory of its body before its response ends.
    @Test func handlerReleasesTheMemoryOfItsBody() async throws {
        let memory = MemoryBudget(limit: 4 << 20)
        let gate = Gate()
        let test = try TestServer(memory: memory) { router in
            router.on(.post, "/stream") { request, responder in
                request.body.release()
                let stream = responder.stream(.ok)
                stream.write { $0.append("begun") }
                let shard = request.shard
                let confined = Confined(stream, to: shard)
                startThread {
                    gate.wait()
                    shard.run { confined.value.finish() }
                }
            }
        }
        try await blocking {
            let clients = try (0..<8).map { _ in
                let client = try RawClient(port: test.port)
                client.request("POST", "/stream", body: [UInt8](repeating: 120, count: 1 << 20))
                #expect(try client.readHead().status == 200)
                return client
            }
            #expect(memory.reservedBytes == 0)
            gate.open()
            for client in clients {
                #expect(client.readBody() == Array("begun".utf8))
            }
        }
    }
}
