import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdSockets
import ChatterdTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct FlowTests {
    @Test func cancelClosesTheServersConnection() async throws {
        try await blocking {
            let upstream = try ScriptedUpstream([.streamHead, .forever([.chunk("token\n")])])
            let recorder = try ClientHarness().start(to: upstream.url)
            try recorder.wait("tokens came") { $0.pieces > 10 }
            recorder.cancel()
            try upstream.waitForClose(of: upstream.requests[0])
            let before = recorder.state.withLock { $0 }
            ClientHarness.onShard {}
            let after = recorder.state.withLock { $0 }
            #expect(before.pieces == after.pieces)
            #expect(!after.isOver)
        }
    }

    @Test func cancelBeforeTheResponseClosesToo() async throws {
        try await blocking {
            let upstream = try ScriptedUpstream([.stall])
            let recorder = try ClientHarness().start(to: upstream.url)
            let request = try upstream.waitForRequests(1)[0]
            recorder.cancel()
            try upstream.waitForClose(of: request)
            #expect(recorder.state.withLock { !$0.isOver })
        }
    }

    @Test func cancelWhileConnectingIsSilent() async throws {
        try await blocking {
            let port = try BoundPort.hanging()
            var limits = HTTPClientLimits()
            limits.connect = .milliseconds(300)
            let client = ClientHarness(limits)
            let origin = try Origin(parsing: port.url)
            let cancelled = Recorder()
            ClientHarness.onShard {
                cancelled.exchange = client.client.value.start(.ask, to: origin, delegate: cancelled)
                // A turn runs blocks before timers, so the cancellation comes before the limit on any machine.
                ClientHarness.shard.run { cancelled.exchange?.cancel() }
            }
            // The other exchange reaches its limit; by then, the cancelled one would have reported an event.
            #expect(try client.ask(of: port.url).errors.map(\.code) == [.connectTimedOut])
            #expect(cancelled.state.withLock { !$0.isOver })
        }
    }

    @Test func cancelFromWithinTheBodyStopsAtOnce() async throws {
        try await blocking {
            let upstream = try ScriptedUpstream([.streamHead, .chunk("a"), .stall])
            let recorder = try ClientHarness().start(to: upstream.url, Recorder { $0.cancel() })
            try upstream.waitForClose(of: try upstream.waitForRequests(1)[0])
            ClientHarness.onShard {}
            let outcome = recorder.state.withLock { $0 }
            #expect(outcome.text == "a")
            #expect(!outcome.isOver)
        }
    }

    @Test func pausedExchangeBlocksTheServer() async throws {
        try await blocking {
            let length = 64 * 1024 * 1024
            let sent = Gate()
            let piece = UpstreamStep.send([UInt8](repeating: 1, count: 1024 * 1024))
            let upstream = try ScriptedUpstream(
                [.head(200, [("Content-Length", String(length))])]
                    + [UpstreamStep](repeating: piece, count: 64) + [.open(sent)])
            // Paused within the call: the second time, all bytes of the read have arrived.
            let paused = Gate()
            let recorder = Recorder { exchange in
                if !paused.isOpen {
                    exchange.pause()
                    paused.open()
                }
            }
            _ = try ClientHarness().start(to: upstream.url, recorder)
            #expect(paused.wait())
            ClientHarness.onShard {}
            let held = recorder.state.withLock { $0.body.count }
            ClientHarness.onShard {}
            #expect(recorder.state.withLock { $0.body.count } == held)
            #expect(held < length)
            #expect(!sent.isOpen)
            ClientHarness.onShard { recorder.exchange?.resume() }
            let outcome = try recorder.outcome()
            #expect(outcome.body.count == length)
            #expect(outcome.ends == 1)
        }
    }

    @Test func pauseAndResumeAtEveryPieceLosesNoBytes() async throws {
        try await blocking {
            let lines = (0..<2000).map { "line \($0)\n" }
            let upstream = try ScriptedUpstream(.lines(lines, inChunksOf: 7))
            let recorder = Recorder { exchange in
                exchange.pause()
                exchange.resume()
            }
            let outcome = try ClientHarness().start(to: upstream.url, recorder).outcome()
            #expect(outcome.text == lines.joined())
        }
    }

    @Test func connectionPausedAtTheEndOfAResponseServesTheNextRequest() async throws {
        try await blocking {
            let upstream = try ScriptedUpstream(.plain(200, "x"))
            let client = ClientHarness()
            let recorder = try client.start(to: upstream.url, Recorder { $0.pause() })
            #expect(try recorder.outcome().ends == 1)
            #expect(try client.ask(of: upstream.url).text == "x")
            #expect(upstream.connectionCount == 1)
        }
    }

    @Test func responseBeforeTheRequestIsReadEndsTheExchange() async throws {
        try await blocking {
            // The server refuses by the head alone and closes, with most of the body unread.
            let server = try EarlyServer(answer: "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
            let body = [UInt8](repeating: 0, count: 32 * 1024 * 1024)
            let outcome = try ClientHarness().ask(OutgoingRequest(.post, "/", body: body), of: server.url)
            #expect(outcome.head?.status == .contentTooLarge)
            #expect(outcome.text == "no")
            #expect(outcome.ends == 1)
        }
    }

    @Test func manyExchangesRunAtOnce() async throws {
        try await blocking {
            let upstream = try ScriptedUpstream { request in
                .lines(["\(request.number)\n", String(decoding: request.body, as: UTF8.self)])
            }
            let client = ClientHarness()
            let running = try (0..<200).map { number in
                try client.start(OutgoingRequest(.post, "/", body: Array("q\(number)".utf8)), to: upstream.url)
            }
            for (number, recorder) in running.enumerated() {
                #expect(try recorder.outcome().text.hasSuffix("\nq\(number)"))
            }
        }
    }

    @Test(arguments: ["end", "failure", "cancel"])
    func exchangeIsReleasedAfter(_ how: String) async throws {
        try await blocking {
            let upstream = try ScriptedUpstream(
                how == "end"
                    ? .plain(200, "x") : [.head(200, [("Content-Length", "5")]), how == "cancel" ? .stall : .close])
            let client = ClientHarness()
            weak var exchange: Exchange?
            weak var kept: Recorder?
            do {
                let recorder = try client.start(to: upstream.url)
                if how == "cancel" {
                    try recorder.wait("a head") { $0.head != nil }
                    recorder.cancel()
                } else {
                    _ = try recorder.outcome()
                }
                exchange = recorder.exchange
                kept = recorder
            }
            // The shard releases the exchange and its recorder at the end of its turn.
            ClientHarness.onShard {}
            #expect(kept == nil)
            #expect(exchange == nil)
        }
    }
}
