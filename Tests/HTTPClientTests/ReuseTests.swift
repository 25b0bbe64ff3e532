import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdTestSupport
import Foundation
import Testing

@Suite(.timeLimit(.minutes(30))) struct ReuseTests {
    @Test(arguments: [
        [UpstreamStep].plain(200, "hello"), .answer(["a", "b"]), .plain(500, "no"), [.head(204, [])],
        [.send("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx")],
    ])
    func completeResponseLeavesTheConnectionForTheNext(script: [UpstreamStep]) async throws {
        try await blocking {
            let upstream = try ScriptedUpstream(script)
            let client = ClientHarness()
            for _ in 0..<5 {
                #expect(try client.ask(of: upstream.url).ends == 1)
            }
            #expect(upstream.connectionCount == 1)
            #expect(upstream.requests.count == 5)
        }
    }

    @Test(arguments: [
        [UpstreamStep].plain(200, "hello", fields: [("Connection", "close")]),
        [.send("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx")],
        // The further bytes would become the head of the next response.
        [.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\ny")],
    ])
    func connectionWithStrayBytesIsNotReused(script: [UpstreamStep]) async throws {
        try await blocking {
            let upstream = try ScriptedUpstream(script)
            let client = ClientHarness()
            for _ in 0..<2 {
                #expect(try client.ask(of: upstream.url).ends == 1)
            }
            #expect(upstream.connectionCount == 2)
            try upstream.waitForClose(of: upstream.requests[0])
        }
    }

    @Test func connectionUsedLastIsReusedFirst() async throws {
        try await blocking {
            let gates = [Gate(), Gate()]
            let upstream = try ScriptedUpstream { request in
                (request.number < 2 ? [.wait(for: gates[request.number])] : []) + .plain(200, "x")
            }
            let client = ClientHarness()
            var running: [Recorder] = []
            for number in 0..<2 {
                running.append(try client.start(to: upstream.url))
                try upstream.waitForRequests(number + 1)
            }
            for (recorder, gate) in zip(running, gates) {
                gate.open()
                #expect(try recorder.outcome().ends == 1)
            }
            #expect(try client.ask(of: upstream.url).ends == 1)
            #expect(upstream.requests[2].connection == upstream.requests[1].connection)
        }
    }

    @Test func connectionClosedByTheServerIsRemovedAtOnce() async throws {
        try await blocking {
            let upstream = try ScriptedUpstream([UpstreamStep].plain(200, "x") + [.close])
            let client = ClientHarness()
            #expect(try client.ask(of: upstream.url).ends == 1)
            try upstream.waitForClose(of: upstream.requests[0])
            #expect(try client.ask(of: upstream.url).ends == 1)
            #expect(upstream.requests.count == 2)
            #expect(upstream.connectionCount == 2)
        }
    }

    @Test(arguments: [UpstreamStep.close, .reset])
    func staleConnectionIsReplacedOnce(end: UpstreamStep) async throws {
        try await blocking {
            let closing = Gate()
            let upstream = try ScriptedUpstream(
                .plain(200, "x") + [.wait(for: closing), end], .plain(200, "y"))
            let client = ClientHarness()
            #expect(try client.ask(of: upstream.url).text == "x")
            let recorder = try client.start(to: upstream.url) { upstream.close(by: closing) }
            #expect(try recorder.outcome().text == "y")
            #expect(upstream.requests.map(\.connection) == [0, 1])
        }
    }

    @Test func secondFailedConnectionIsNotReplaced() async throws {
        try await blocking {
            let closing = Gate()
            let upstream = try ScriptedUpstream(.plain(200, "x") + [.wait(for: closing), .close], [.close])
            let client = ClientHarness()
            #expect(try client.ask(of: upstream.url).text == "x")
            let recorder = try client.start(to: upstream.url) { upstream.close(by: closing) }
            let errors = try recorder.outcome().errors
            #expect(errors.map(\.code) == [.reset])
            #expect(upstream.requests.map(\.connection) == [0, 1], "\(errors)")
        }
    }

    @Test(arguments: [UpstreamStep.close, .reset])
    func requestReadByTheServerIsNotRepeated(end: UpstreamStep) async throws {
        try await blocking {
            let upstream = try ScriptedUpstream(.plain(200, "x"), [end], .plain(200, "y"))
            let client = ClientHarness()
            #expect(try client.ask(of: upstream.url).text == "x")
            #expect(try client.ask(of: upstream.url).errors.map(\.code) == [.reset])
            #expect(upstream.requests.map(\.connection) == [0, 0])
        }
    }

    @Test(arguments: [2, 60_000, 4_000_000])
    func requestReadInPartIsNotRepeated(size: Int) async throws {
        try await blocking {
            let server = try EarlyServer(answer: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", next: 10)
            let client = ClientHarness()
            #expect(try client.ask(of: server.url).text == "x")
            let request = OutgoingRequest(.post, "/", body: [UInt8](repeating: 0, count: size))
            #expect(try client.ask(request, of: server.url).errors.map(\.code) == [.reset])
        }
    }

    @Test func requestIsNotRepeatedAfterTheBeginningOfItsResponse() async throws {
        try await blocking {
            let upstream = try ScriptedUpstream(.plain(200, "x"), [.send("H"), .close])
            let client = ClientHarness()
            #expect(try client.ask(of: upstream.url).text == "x")
            #expect(try client.ask(of: upstream.url).errors.map(\.code) == [.reset])
            #expect(upstream.requests.count == 2)
        }
    }

    @Test func idleConnectionsAreBoundedInNumberAndTime() async throws {
        try await blocking {
            let gate = Gate()
            let upstream = try ScriptedUpstream([.wait(for: gate)] + .plain(200, "x"))
            var limits = HTTPClientLimits.longTimeouts
            limits.idleConnections = 1
            limits.idleTime = .milliseconds(50)
            let client = ClientHarness(limits)
            let running = try (0..<3).map { _ in try client.start(to: upstream.url) }
            try upstream.waitForRequests(3)
            gate.open()
            for recorder in running {
                #expect(try recorder.outcome().ends == 1)
            }
            for request in upstream.requests {
                try upstream.waitForClose(of: request)
            }
        }
    }

    @Test func nextRequestMayStartWhenTheLastHasEnded() async throws {
        try await blocking {
            let upstream = try ScriptedUpstream(.plain(200, "x"))
            let client = ClientHarness()
            let chain = Chain(client.client, try Origin(parsing: upstream.url), count: 20)
            ClientHarness.onShard { chain.next() }
            #expect(chain.done.wait())
            #expect(upstream.requests.count == 20)
            #expect(upstream.connectionCount == 1)
        }
    }

    @Test func deallocatedClientClosesItsConnections() async throws {
        try await blocking {
            let gates = [Gate(), Gate()]
            let upstream = try ScriptedUpstream { request in
                [.wait(for: gates[request.number])] + .plain(200, "x")
            }
            let shard = ClientHarness.shard
            var client: Confined? = Confined(HTTPClient(shard: shard, limits: .longTimeouts), to: shard)
            let origin = try Origin(parsing: upstream.url)
            let recorders = [Recorder(), Recorder()]
            for (number, recorder) in recorders.enumerated() {
                let asked = try #require(client)
                ClientHarness.onShard { recorder.exchange = asked.value.start(.ask, to: origin, delegate: recorder) }
                try upstream.waitForRequests(number + 1)
            }
            gates[0].open()
            #expect(try recorders[0].outcome().ends == 1)
            client = nil
            // The idle connection closes at once, the other one after its response.
            try upstream.waitForClose(of: upstream.requests[0])
            gates[1].open()
            #expect(try recorders[1].outcome().ends == 1)
            try upstream.waitForClose(of: upstream.requests[1])
        }
    }

    /// Starts the next exchange from within the end of the last.
    private final class Chain: ExchangeDelegate, @unchecked Sendable {
        let done = Gate()
        private let client: Confined<HTTPClient>
        private let origin: Origin
        private var left: Int

        init(_ client: Confined<HTTPClient>, _ origin: Origin, count: Int) {
            self.client = client
            self.origin = origin
            left = count
        }

        func next() {
            guard left > 0 else {
                done.open()
                return
            }
            left -= 1
            _ = client.value.start(.ask, to: origin, delegate: self)
        }

        func exchange(_ exchange: Exchange, received head: ResponseHead) {}
        func exchange(_ exchange: Exchange, received body: Span<UInt8>) {}
        func exchangeEnded(_ exchange: Exchange) { next() }
        func exchange(_ exchange: Exchange, failed error: HTTPClientError) { done.open() }
    }
}

extension ScriptedUpstream {
    /// Continues the script of the first request, and waits until it has closed the connection and the client's system knows.
    fileprivate func close(by gate: Gate) {
        do {
            #expect(try hasOpenClient())
            gate.open()
            try waitForClose(of: requests[0])
            // A busy system delivers the end of a connection after `close` has returned, even on loopback.
            try eventually("the client's system knows the end", isTrue: { try !hasOpenClient() })
        } catch {
            Issue.record(error)
        }
    }

    /// Whether this process has an established connection to the server. The descriptors are asked, because proc_net_tcp(5) may lack a
    /// connection while others begin and end.
    private func hasOpenClient() throws -> Bool {
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
        return descriptors.contains { descriptor in
            var peer = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let status = withUnsafeMutablePointer(to: &peer) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
            }
            guard status == 0, peer.sin_family == sa_family_t(AF_INET), UInt16(bigEndian: peer.sin_port) == port else {
                return false
            }
            // The state is the first byte of `tcp_info`.
            var state: UInt8 = 0
            var size = socklen_t(1)
            return getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &state, &size) == 0
                && state == UInt8(TCP_ESTABLISHED)
        }
    }
}
