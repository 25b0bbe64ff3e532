import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdTestSupport
import Testing

/// The requirements of RFC 9110 on every server, seen from the socket.
@Suite(.timeLimit(.minutes(30))) struct SemanticsTests {
    private func makeServer() throws -> TestServer {
        try TestServer { $0.addUsualRoutes() }
    }

    @Test(arguments: ["/", "/stream"])
    func headIsAnsweredAsGetWithoutTheBody(path: String) async throws {
        let test = try makeServer()
        try await blocking {
            let client = try RawClient(port: test.port)
            client.send("HEAD \(path) HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n")
            let head = try client.readHead(of: "HEAD")
            #expect(head.status == 200)
            #expect(head["content-type"] == "text/plain")
            #expect(path == "/stream" || head["content-length"] == "5")
            #expect(try client.readResponse().text == "hello")
        }
    }

    @Test func optionsListsTheMethods() async throws {
        let test = try makeServer()
        try await blocking {
            let client = try RawClient(port: test.port)
            client.request("OPTIONS", "/echo")
            let one = try client.readResponse()
            #expect(one.status == 204)
            #expect(one["allow"] == "OPTIONS, POST")
            #expect(one["content-length"] == nil)
            client.request("OPTIONS", "*")
            #expect(try client.readResponse()["allow"] == "GET, HEAD, OPTIONS, POST")
        }
    }

    @Test func unknownPathIsRefusedAndTheConnectionStays() async throws {
        let test = try makeServer()
        try await blocking {
            let client = try RawClient(port: test.port)
            client.post("/nowhere", json: "{}")
            let exchange = try client.readResponse()
            #expect(exchange.status == 404)
            #expect(exchange["content-type"] == "application/json")
            #expect(exchange.json["code"] as? String == "not_found")
            client.request("GET", "/")
            #expect(try client.readResponse().status == 200)
        }
        let records = try test.records(2)
        #expect(records[0].route == nil)
        #expect(records[0].outcome == .refused("not_found"))
        #expect(records[1].outcome == .completed)
    }

    @Test func wrongMethodGetsTheAllowedOnes() async throws {
        let test = try makeServer()
        let exchange = try await blocking { try RawClient.get(port: test.port, "/echo") }
        #expect(exchange.status == 405)
        #expect(exchange["allow"] == "OPTIONS, POST")
        #expect(exchange.json["code"] as? String == "method_not_allowed")
    }

    @Test func absoluteFormIsServed() async throws {
        let test = try makeServer()
        let (text, _) = try await blocking {
            try test.answer(to: "GET http://chatterd.test/ HTTP/1.1\r\nHost: other\r\n\r\n")
        }
        #expect(text.hasSuffix("\r\n\r\nhello"))
    }

    @Test func http10ConnectionIsClosedAfterItsResponse() async throws {
        let test = try makeServer()
        try await blocking {
            let client = try RawClient(port: test.port)
            client.send("GET / HTTP/1.0\r\n\r\n")
            let head = try client.readHead()
            #expect(head["connection"] == "close")
            #expect(String(decoding: client.readBody(), as: UTF8.self) == "hello")
            #expect(client.readToEnd().end == .cut)
        }
    }

    @Test func http10ConnectionIsKeptOnRequest() async throws {
        let test = try makeServer()
        try await blocking {
            let client = try RawClient(port: test.port)
            for _ in 0..<2 {
                client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                #expect(try client.readHead()["connection"] == "keep-alive")
                #expect(String(decoding: client.readBody(), as: UTF8.self) == "hello")
            }
        }
    }

    @Test func http10ClientGetsAStreamWithoutChunks() async throws {
        let test = try makeServer()
        let (text, end) = try await blocking {
            try test.answer(to: "GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        }
        #expect(!text.contains("transfer-encoding"))
        #expect(text.hasSuffix("connection: close\r\n\r\none two three"))
        #expect(end == .cut)
    }

    @Test func closedConnectionIsReported() async throws {
        let test = try makeServer()
        try await blocking {
            let client = try RawClient(port: test.port)
            client.request("GET", "/", fields: [("Connection", "close")])
            let exchange = try client.readResponse()
            #expect(exchange["connection"] == "close")
            #expect(client.readToEnd().end == .cut)
        }
    }

    @Test func validIdIsEchoedAndAnotherIsReplaced() async throws {
        let test = try makeServer()
        try await blocking {
            let own = try RawClient.get(port: test.port, "/", fields: [("X-Request-Id", "trace-1")])
            #expect(own["x-request-id"] == "trace-1")
            let made = try RawClient.get(port: test.port, "/", fields: [("X-Request-Id", "two words")])
            #expect(made["x-request-id"]?.utf8.count == 13)
        }
        #expect(try test.records(2)[0].id == "trace-1")
    }

    @Test func bodiesOfBothKindsReachTheHandlerHoweverTheyArrive() async throws {
        let test = try makeServer()
        let requests = [
            "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nhello world",
            "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nhello \r\n5;x=y\r\nworld\r\n0\r\n\r\n",
        ]
        try await blocking {
            for size in [1, 2, 7, 1000] {
                let client = try RawClient(port: test.port)
                for request in requests + requests {
                    client.connection.send(Array(request.utf8), inPiecesOf: size)
                    #expect(try client.readResponse().text == "hello world")
                }
            }
        }
    }

    @Test func handlerWithoutAResponseIsAnInternalError() async throws {
        let test = try TestServer { $0.on(.get, "/") { _, _ in } }
        let exchange = try await blocking { try RawClient.get(port: test.port, "/") }
        #expect(exchange.status == 500)
        #expect(exchange.json["code"] as? String == "internal_error")
        #expect(try test.records(1)[0].outcome == .refused("internal_error"))
    }

    @Test func responseWithoutContentHasNoFraming() async throws {
        let test = try TestServer {
            $0.on(.get, "/stream") { _, responder in
                let stream = responder.stream(.noContent)
                stream.write { $0.append("nothing") }
                stream.finish()
            }
            $0.on(.get, "/") { _, responder in responder.respond(.notModified, body: [1]) }
        }
        try await blocking {
            let client = try RawClient(port: test.port)
            for (path, status) in [("/stream", 204), ("/", 304), ("/stream", 204)] {
                client.request("GET", path)
                let exchange = try client.readResponse()
                #expect(exchange.status == status)
                #expect(exchange["transfer-encoding"] == nil)
                #expect(exchange["content-length"] == nil)
            }
        }
    }

    @Test func secondResponseIsIgnored() async throws {
        let test = try TestServer {
            $0.on(.get, "/") { _, responder in
                responder.respond(.ok, body: [1])
                responder.respond(.ok, body: [2])
                #expect(responder.stream(.ok).isClosed)
            }
        }
        try await blocking {
            let client = try RawClient(port: test.port)
            for _ in 0..<2 {
                client.request("GET", "/")
                #expect(try client.readResponse().body == [1])
            }
        }
    }

    @Test func framingFieldsAreSetByTheServer() async throws {
        let test = try TestServer {
            $0.on(.get, "/") { _, responder in
                let fields: Fields = [
                    .contentLength: "99", .transferEncoding: "chunked", .connection: "close", .date: "x",
                    .cacheControl: "no-store",
                ]
                responder.respond(.ok, fields: fields, body: Array("hello".utf8))
            }
        }
        let exchange = try await blocking { try RawClient.get(port: test.port, "/") }
        #expect(exchange.text == "hello")
        #expect(exchange["cache-control"] == "no-store")
        #expect(exchange.head.fields.count == 4)
    }

    @Test func recordHasTheFactsOfAnExchange() async throws {
        let test = try TestServer {
            $0.on(.post, "/replies/:id") { request, responder in
                responder.annotate("reply", request.parameter ?? "")
                responder.respond(.created, body: request.body.bytes)
            }
        }
        let request = "POST /replies/7 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
        let (text, _) = try await blocking { try test.answer(to: request) }
        let record = try test.records(1)[0]
        #expect(record.method == .post)
        #expect(record.route == "/replies/:id")
        #expect(record.status == .created)
        #expect(record.bytesIn == request.utf8.count)
        #expect(record.bytesOut == text.utf8.count)
        #expect(record.outcome == .completed)
        #expect(record.annotations.map { "\($0.key)=\($0.value)" } == ["reply=7"])
    }

    @Test func noRecordHasANegativeCountOfBytes() async throws {
        let test = try TestServer { $0.addUsualRoutes() }
        try await blocking {
            let other = try RawClient(port: test.port)
            let client = try RawClient(port: test.port, receiveBuffer: 4096)
            let unit = Array("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
            _ = try client.connection.flood(with: unit, upTo: 64 << 20) {
                other.request("GET", "/nowhere")
                let exchange = try other.readResponse(of: "GET")
                #expect(exchange.status == 404)
            }
            client.reset()
            try eventually("the flood ends", isTrue: { test.records.contains { $0.outcome != .completed } })
        }
        #expect(test.records.allSatisfy { $0.bytesOut >= 0 })
    }

    /// Requests of one connection take turns with those of others, whether a handler answers them or the server itself.
    @Test(arguments: ["/", "/nowhere"]) func pipelinedRequestsLeaveOthersTheirTurn(path: String) async throws {
        let (count, flood) = (1_500, "GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
        let test = try TestServer { $0.addUsualRoutes() }
        try await blocking {
            let client = try RawClient(port: test.port)
            let other = try RawClient(port: test.port)
            try eventually("the connections are accepted", isTrue: { test.connectionCount == 2 })
            test.whileHeld {
                client.send(String(repeating: flood, count: count))
                other.request("GET", "/other")
            }
            let refused = try other.readResponse(of: "GET")
            #expect(refused.status == 404)
            for _ in 0..<count {
                let exchange = try client.readResponse(of: "GET")
                #expect(exchange.status == (path == "/" ? 200 : 404) && exchange.end == .complete)
            }
        }
        let records = try test.records(count + 1)
        let place = try #require(records.firstIndex { $0.bytesIn > flood.utf8.count + 5 })
        #expect(place <= 2 * 64)
    }
}
