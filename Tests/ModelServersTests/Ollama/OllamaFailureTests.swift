import ChatterdChat
import ChatterdHTTPClient
import ChatterdModelServers
import ChatterdTestSupport
import Testing

/// Failures of model servers, over real sockets.
@Suite(.timeLimit(.minutes(30))) struct OllamaFailureTests {
    /// The behaviour of a model server, and the expected error.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let steps: [UpstreamStep]
        let code: ModelError.Code
        var lines = 0
        /// A part of the message for people.
        var says = ""

        init(
            _ name: String, _ steps: [UpstreamStep], _ code: ModelError.Code, lines: Int = 0, says: String = ""
        ) {
            testDescription = name
            self.steps = steps
            self.code = code
            self.lines = lines
            self.says = says
        }
    }

    private static let token = UpstreamStep.chunk(ModelLine.token("a"))

    static let cases: [Case] = [
        Case(
            "model not found", .error(404, "model 'tiny' not found"), .modelNotFound, says: "model 'tiny' not found"),
        Case("404 of another server", .plain(404, "404 page not found", type: "text/plain"), .rejected),
        Case("400", .error(400, "does not support tools"), .rejected, says: "does not support tools"),
        Case("401", .plain(401, ""), .unauthorized, says: "key"),
        Case("429", .plain(429, "{}"), .busy),
        Case("500", .error(500, "out of memory"), .failed, says: "out of memory"),
        Case("500 without words", .plain(500, ""), .failed, says: "500"),
        Case("502, a web page", .plain(502, "<html>Bad Gateway</html>", type: "text/html"), .failed, says: "502"),
        Case("503", .error(503, "server busy, please try again"), .busy, says: "server busy"),
        Case(
            "redirect", [.head(307, [("Location", "http://127.0.0.1:1/"), ("Content-Length", "0")])], .malformed,
            says: "redirect"),
        Case("200, a web page", .plain(200, "<html></html>", type: "text/html"), .malformed, says: "web page"),
        Case("200, plain text", .plain(200, "Ollama is running", type: "text/plain"), .malformed),
        Case("200, empty", .plain(200, ""), .incomplete, says: "empty"),
        Case("200, blank lines only", .plain(200, "\n\n"), .incomplete),
        Case("error as first line", .lines([ModelLine.error("boom")]), .failed, says: "boom"),
        Case("error in mid-stream", .lines([ModelLine.token("a"), ModelLine.error("boom")]), .failed, lines: 1),
        Case("error without a line end", .lines([ModelLine.token("a"), "{\"error\":\"boom\"}"]), .failed, lines: 1),
        Case(
            "error and done in one", .lines([ModelLine.token("a"), "{\"error\":\"boom\",\"done\":true}\n"]), .failed,
            lines: 1),
        Case("garbage line", .lines([ModelLine.token("a"), "garbage\n", ModelLine.done()]), .malformed, lines: 1),
        Case("an array", .lines(["[]\n"]), .malformed),
        Case("half a line", .lines([ModelLine.token("a"), "{\"model\":"]), .malformed, lines: 1),
        Case("end without done", .lines([ModelLine.token("a")]), .incomplete, lines: 1),
        Case("cut chunked body", [.streamHead, token, .close], .incomplete, lines: 1),
        Case("cut body with a length", [.head(200, [("Content-Length", "500")]), .send("{"), .close], .incomplete),
        Case("closed before the head", [.close], .unavailable),
        Case("cut head", [.send("HTTP/1.1 200 OK\r\n"), .close], .unavailable),
        Case("not HTTP", [.send("SSH-2.0-OpenSSH_9.2\r\n"), .stall], .malformed),
        Case("bad chunk", [.streamHead, token, .send("zz\r\n"), .stall], .malformed, lines: 1),
    ]

    @Test(arguments: cases)
    func everyFailureHasItsCode(_ fault: Case) async throws {
        try await blocking {
            let upstream = try ScriptedUpstream(fault.steps)
            let answer = try ModelHarness(upstream.url).ask()
            #expect(answer.code == fault.code)
            #expect(answer.lines.count == fault.lines)
            let message = try #require(answer.ends.first??.message)
            #expect(message.contains(fault.says))
            // Addresses are for the log.
            #expect(!message.contains("127.0.0.1"))
        }
    }

    @Test(
        arguments: [
            .error(400, "bad header: Bearer s3cret-1"), .plain(502, "s3cret-1", type: "text/plain"),
            .lines([ModelLine.error("no s3cret-1 here")]),
        ] as [[UpstreamStep]])
    func keyIsNotRepeated(steps: [UpstreamStep]) async throws {
        try await blocking {
            let upstream = try ScriptedUpstream(steps)
            let answer = try ModelHarness(upstream.url, key: "s3cret-1").ask()
            let error = try #require(answer.ends.first ?? nil)
            #expect(!"\(error.message) \(error.detail)".contains("s3cret-1"))
            #expect("\(error.message) \(error.detail)".contains("…"))
        }
    }

    @Test func connectionResetInMidStreamIsIncomplete() async throws {
        try await blocking {
            let gate = Gate()
            let upstream = try ScriptedUpstream([.streamHead, Self.token, .wait(for: gate), .reset])
            let recorder = try ModelHarness(upstream.url).start()
            // A reset discards unread bytes, so they must arrive before it.
            try recorder.wait("a line came") { $0.lines.count == 1 }
            gate.open()
            #expect(try recorder.outcome().code == .incomplete)
        }
    }

    @Test func closedPortIsUnavailable() async throws {
        try await blocking {
            let port = try BoundPort.refusing()
            #expect(try ModelHarness(port.url).ask().code == .unavailable)
            #expect(try ModelHarness("http://nowhere.invalid:1").ask().code == .unavailable)
        }
    }

    @Test func connectHasItsOwnTimeout() async throws {
        try await blocking {
            let port = try BoundPort.hanging()
            var limits = HTTPClientLimits()
            limits.connect = .milliseconds(50)
            #expect(try ModelHarness(port.url, client: limits).ask().code == .connectTimeout)
        }
    }

    @Test func silenceBeforeTheFirstByteHasALimit() async throws {
        try await blocking {
            var limits = GenerationLimits.longTimeouts
            limits.firstByte = .milliseconds(300)
            let upstream = try ScriptedUpstream(.ended, [.stall])
            #expect(try ModelHarness(connectedTo: upstream, limits: limits).ask().code == .firstByteTimeout)
            try upstream.waitForClose(of: try upstream.waitForRequests(2)[1])
            // A head alone does not begin an answer.
            let second = try ScriptedUpstream(.ended, [.streamHead, .stall])
            #expect(try ModelHarness(connectedTo: second, limits: limits).ask().code == .firstByteTimeout)
        }
    }

    @Test func silenceInMidStreamHasALimit() async throws {
        try await blocking {
            var limits = GenerationLimits.longTimeouts
            limits.silence = .milliseconds(50)
            let upstream = try ScriptedUpstream([.streamHead, Self.token, .stall])
            let answer = try ModelHarness(upstream.url, limits: limits).ask()
            #expect(answer.code == .silenceTimeout)
            #expect(answer.lines.count == 1)
            try upstream.waitForClose(of: try #require(try upstream.waitForRequests(1).first))
        }
    }

    @Test func wholeAnswerHasATimeout() async throws {
        try await blocking {
            var limits = GenerationLimits.longTimeouts
            limits.total = .milliseconds(300)
            let upstream = try ScriptedUpstream(.ended, [.streamHead, .forever([Self.token])])
            let answer = try ModelHarness(connectedTo: upstream, limits: limits).ask()
            #expect(answer.code == .totalTimeout)
            try upstream.waitForClose(of: try upstream.waitForRequests(2)[1])
        }
    }

    @Test func wholeAnswerHasATimeoutEvenWhilePaused() async throws {
        try await blocking {
            var limits = GenerationLimits.longTimeouts
            limits.total = .milliseconds(300)
            let upstream = try ScriptedUpstream(.ended, [.streamHead, .forever([Self.token])])
            let consumer = RecordingConsumer { generation, _ in generation.pause() }
            let model = try ModelHarness(connectedTo: upstream, limits: limits)
            #expect(try model.start(consumer).outcome().code == .totalTimeout)
        }
    }

    @Test func statusCountsIfTheBodyStalls() async throws {
        try await blocking {
            var limits = GenerationLimits.longTimeouts
            limits.silence = .milliseconds(50)
            let upstream = try ScriptedUpstream([.head(503, [("Content-Length", "100")]), .send("{\"er"), .stall])
            #expect(try ModelHarness(upstream.url, limits: limits).ask().code == .busy)
        }
    }

    @Test func statusCountsIfTheBodyNeverEnds() async throws {
        try await blocking {
            let piece = UpstreamStep.chunk(String(repeating: "x", count: 1000))
            let upstream = try ScriptedUpstream(
                [.head(500, [("Transfer-Encoding", "chunked")]), .forever([piece])])
            #expect(try ModelHarness(upstream.url).ask().code == .failed)
            try upstream.waitForClose(of: try #require(try upstream.waitForRequests(1).first))
        }
    }

    @Test(arguments: [true, false])
    func answerHasALimit(thinks: Bool) async throws {
        try await blocking {
            var limits = GenerationLimits.longTimeouts
            limits.answer = 1000
            let line = thinks ? ModelLine.thinking("0123456789") : ModelLine.token("0123456789")
            let upstream = try ScriptedUpstream([.streamHead, .forever([.chunk(line)])])
            let answer = try ModelHarness(upstream.url, limits: limits).ask()
            #expect(answer.code == .answerTooLarge)
            #expect(answer.lines.count == 100)
            try upstream.waitForClose(of: try #require(try upstream.waitForRequests(1).first))
        }
    }

    @Test func lineHasALimit() async throws {
        try await blocking {
            var limits = GenerationLimits.longTimeouts
            limits.line = 300
            let long = ModelLine.token(String(repeating: "x", count: 400))
            let upstream = try ScriptedUpstream([.streamHead, Self.token, .chunk(long), .stall])
            let answer = try ModelHarness(upstream.url, limits: limits).ask()
            #expect(answer.code == .malformed)
            #expect(answer.lines.count == 1)
            let endless = try ScriptedUpstream([.streamHead, .forever([.chunk("xxxxxxxxxx")])])
            #expect(try ModelHarness(endless.url, limits: limits).ask().code == .malformed)
        }
    }
}
