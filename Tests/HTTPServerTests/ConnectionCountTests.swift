import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdTestSupport
import Testing

/// Many connections, their slots, and their end.
@Suite(.timeLimit(.minutes(30))) struct ConnectionCountTests {
    @Test func connectionBeyondTheSlotsWaitsForOne() async throws {
        var limits = Limits.longTimeouts
        limits.connections = 2
        let test = try TestServer(shards: 2, limits: limits) { $0.addUsualRoutes() }
        try await blocking {
            let first = try RawClient(port: test.port)
            let second = try RawClient(port: test.port)
            for client in [first, second] {
                client.request("GET", "/")
                #expect(try client.readResponse().status == 200)
            }
            let third = try RawClient(port: test.port)
            third.request("GET", "/")
            #expect(test.connectionCount == 2)
            first.close()
            #expect(try third.readResponse().status == 200)
            #expect(test.connectionCount == 2)
        }
    }

    @Test func thousandConnectionsAreServedAndReleased() async throws {
        let test = try TestServer(shards: 2) { $0.addUsualRoutes() }
        try await blocking {
            var clients: [RawClient] = []
            for _ in 0..<1000 {
                clients.append(try RawClient(port: test.port))
            }
            for _ in 0..<2 {
                for client in clients {
                    client.request("GET", "/")
                }
                for client in clients {
                    #expect(try client.readResponse().text == "hello")
                }
            }
            #expect(test.connectionCount == 1000)
            for client in clients {
                client.close()
            }
        }
        await test.server.waitUntilIdle()
        #expect(test.connectionCount == 0)
        #expect(test.records.count == 2000)
    }

    @Test func shutdownClosesIdleConnectionsAndCompletesResponses() async throws {
        let begun = Gate()
        let mayEnd = Gate()
        // On one shard, both connections begin to shut down together. The port is kept bound, so that no other process listens on
        // it afterwards.
        var limits = Limits.longTimeouts
        // Only the shutdown closes the idle connection, however slow the machine is.
        limits.idle = .seconds(1_000_000)
        let test = try TestServer(limits: limits, at: BoundPort.refusing()) {
            $0.addUsualRoutes()
            $0.on(.get, "/slow") { _, responder in
                begun.open()
                // A separate thread waits, because the shard must not.
                _ = try? await blocking { mayEnd.wait() }
                responder.respond(.ok, body: Array("done".utf8))
            }
        }
        let idle = try await blocking {
            let client = try RawClient(port: test.port)
            client.request("GET", "/")
            #expect(try client.readResponse().status == 200)
            return Confined(client)
        }
        let running = try await blocking {
            let client = try RawClient(port: test.port)
            client.request("GET", "/slow")
            #expect(begun.wait())
            return Confined(client)
        }
        async let shutdown: Void = test.server.shutDown(within: .seconds(600))
        try await blocking {
            #expect(idle.client.readToEnd() == ([], .cut))
            idle.client.close()
            // The listener is closed.
            try eventually("connections are refused") { (try? RawClient(port: test.port)) == nil }
            mayEnd.open()
            let exchange = try running.client.readResponse()
            #expect(exchange.text == "done")
            #expect(exchange["connection"] == "close")
            running.client.close()
        }
        await shutdown
        #expect(test.connectionCount == 0)
    }

    @Test func shutdownCutsConnectionsOffAfterItsGrace() async throws {
        let begun = Gate()
        let test = try TestServer {
            $0.on(.get, "/") { _, responder in
                let stream = responder.stream(.ok)
                stream.onClientGone = { withExtendedLifetime(stream) {} }
                begun.open()
            }
        }
        let client = try await blocking {
            let client = try RawClient(port: test.port)
            client.request("GET", "/")
            #expect(begun.wait())
            return Confined(client)
        }
        await test.server.shutDown(within: .milliseconds(20))
        try await blocking {
            let head = try client.client.readHead()
            #expect(head.status == 200)
            #expect(client.client.readBody().isEmpty)
            #expect(client.client.bodyEnd == .reset)
        }
        #expect(try test.records(1)[0].outcome == .aborted)
    }
}

/// Passes a client from one blocking part of a test to the next.
private struct Confined: @unchecked Sendable {
    let client: RawClient

    init(_ client: RawClient) {
        self.client = client
    }
}
