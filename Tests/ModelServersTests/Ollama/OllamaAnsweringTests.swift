import ChatterdBasics
import ChatterdChat
import ChatterdModelServers
import ChatterdTestSupport
import Glibc
import Testing

/// Complete answers, over real sockets.
@Suite(.timeLimit(.minutes(30))) struct OllamaAnsweringTests {
    @Test func linesArePassedOnVerbatim() async throws {
        try await blocking {
            let lines = [ModelLine.token("Hel"), ModelLine.token("lo "), ModelLine.done()]
            let upstream = try ScriptedUpstream(.lines(lines))
            let answer = try ModelHarness(upstream.url).ask()
            #expect(answer.isComplete)
            #expect(answer.lines.map { $0 + "\n" } == lines)
            #expect(answer.content == "Hello ")
        }
    }

    @Test func requestHasTheConversation() async throws {
        try await blocking {
            let upstream = try ScriptedUpstream.answering(["x"])
            _ = try ModelHarness(upstream.url + "/base", key: "s3cret").ask()
            let request = try #require(upstream.requests.first)
            #expect(request.method == "POST")
            #expect(request.path == "/base/api/chat")
            #expect(request["Content-Type"] == "application/json")
            #expect(request["Authorization"] == "Bearer s3cret")
            #expect(request.messages == [["user", "Hi"]])
            #expect(
                String(decoding: request.body, as: UTF8.self)
                    == #"{"model":"tiny","messages":[{"role":"user","content":"Hi"}],"stream":true,"think":true}"#)
        }
    }

    @Test(arguments: [1, 2, 3, 7, 64])
    func linesCutAnywhereAreTheSame(_ size: Int) async throws {
        try await blocking {
            let lines = [
                ModelLine.thinking("hm"), ModelLine.token("é\u{1F600}\u{2028}\"\\\n"), ModelLine.token("b"),
                ModelLine.done(),
            ]
            let upstream = try ScriptedUpstream(.lines(lines, inChunksOf: size))
            let answer = try ModelHarness(upstream.url).ask()
            #expect(answer.isComplete)
            #expect(answer.lines.map { $0 + "\n" } == lines)
        }
    }

    @Test func lastLineMayLackItsLineEnd() async throws {
        try await blocking {
            let last = String(ModelLine.done().dropLast())
            let upstream = try ScriptedUpstream(.lines([ModelLine.token("a"), last]))
            let answer = try ModelHarness(upstream.url).ask()
            #expect(answer.isComplete)
            #expect(answer.lines.last == last)
        }
    }

    @Test func linesMayEndInCRLFAndBlankLinesAreLeftOut() async throws {
        try await blocking {
            let token = String(ModelLine.token("a").dropLast())
            let upstream = try ScriptedUpstream(.lines(["\n\r\n", token + "\r\n", "\n", ModelLine.done()]))
            let answer = try ModelHarness(upstream.url).ask()
            #expect(answer.isComplete)
            #expect(answer.lines.count == 2)
            #expect(answer.lines.first == token)
        }
    }

    @Test(arguments: [ModelDialect.v0_11, .v0_32])
    func toolCallsArePassedOn(_ dialect: ModelDialect) async throws {
        try await blocking {
            let lines = ModelLine.toolCalls([("f", "{\"a\":1}"), ("g", "{}")], dialect)
            let upstream = try ScriptedUpstream(.lines(lines))
            let answer = try ModelHarness(upstream.url).ask()
            #expect(answer.isComplete)
            #expect(answer.lines.map { $0 + "\n" } == lines)
        }
    }

    @Test func bytesThatCannotBeStoredAreReplaced() async throws {
        try await blocking {
            let opening = #"{"model":"m","created_at":"c","message":{"role":"assistant","content":""#
            let ending = Array("\"},\"done\":false}\n".utf8)
            let contents: [[UInt8]] = [
                [0x61, 0xFF, 0x62], [0xE2, 0x82], Array(#"a\u0000b"#.utf8), Array(#"\ud800x"#.utf8),
                Array(#"\ud83d\ude00"#.utf8), Array("\u{2028}".utf8),
            ]
            let chunks = contents.map { UpstreamStep.chunk(Array(opening.utf8) + $0 + ending) }
            let upstream = try ScriptedUpstream([.streamHead] + chunks + [.chunk(ModelLine.done()), .endChunks])
            let answer = try ModelHarness(upstream.url).ask()
            #expect(answer.isComplete)
            #expect(answer.content == "a\u{FFFD}b\u{FFFD}a\u{FFFD}b\u{FFFD}x\u{1F600}\u{2028}")
            for line in answer.lines {
                #expect(!line.contains("\\u0000") && !line.utf8.contains(0))
            }
        }
    }

    @Test func membersForOldClientsAreAdded() async throws {
        try await blocking {
            let upstream = try ScriptedUpstream(
                .lines(["{\"message\":{\"content\":\"a\"},\"done\":false}\n", "{\"done\":true}\n"]))
            let answer = try ModelHarness(upstream.url).ask()
            #expect(answer.isComplete)
            #expect(
                answer.lines == [
                    #"{"message":{"content":"a","role":"assistant"},"done":false,"model":"tiny","created_at":"1970-01-01T00:00:00.000000Z"}"#,
                    #"{"done":true,"model":"tiny","created_at":"1970-01-01T00:00:00.000000Z","message":{"role":"assistant","content":""}}"#,
                ])
        }
    }

    @Test func connectionServesTheNextAnswer() async throws {
        try await blocking {
            let upstream = try ScriptedUpstream.answering(["x"])
            let model = try ModelHarness(upstream.url)
            for _ in 0..<3 {
                #expect(try model.ask().isComplete)
                // The end of the body may come after the last line.
                try upstream.waitForEnd(of: try #require(upstream.requests.last))
                ModelHarness.onShard { _ in }
            }
            #expect(upstream.requests.count == 3)
        }
    }

    @Test func endDoesNotWaitForTheEndOfTheBody() async throws {
        try await blocking {
            let gate = Gate()
            let upstream = try ScriptedUpstream(
                [.streamHead, .chunk(ModelLine.token("a")), .chunk(ModelLine.done()), .wait(for: gate), .endChunks])
            let model = try ModelHarness(upstream.url)
            #expect(try model.ask().isComplete)
            gate.open()
        }
    }

    @Test func unfinishedBodyIsClosedAfterALimit() async throws {
        try await blocking {
            var limits = GenerationLimits.longTimeouts
            limits.rest = .milliseconds(50)
            let upstream = try ScriptedUpstream([.streamHead, .chunk(ModelLine.done()), .stall])
            #expect(try ModelHarness(upstream.url, limits: limits).ask().isComplete)
            try upstream.waitForClose(of: try #require(try upstream.waitForRequests(1).first))
        }
    }

    @Test func linesAfterTheLastLineAreDropped() async throws {
        try await blocking {
            let upstream = try ScriptedUpstream(
                .lines([
                    ModelLine.token("a"), ModelLine.done(content: "b") + ModelLine.done() + ModelLine.token("c"),
                    ModelLine.done(), "garbage\n", ModelLine.error(),
                ]))
            let answer = try ModelHarness(upstream.url).ask()
            #expect(answer.isComplete)
            #expect(answer.content == "ab")
            #expect(answer.lines.count == 2)
        }
    }

    @Test func floodAfterTheLastLineClosesTheConnection() async throws {
        try await blocking {
            let upstream = try ScriptedUpstream(
                [.streamHead, .chunk(ModelLine.done()), .forever([.chunk(ModelLine.token("more"))])])
            #expect(try ModelHarness(upstream.url).ask().isComplete)
            try upstream.waitForClose(of: try #require(try upstream.waitForRequests(1).first))
        }
    }

    @Test func pausedAnswerLosesNoText() async throws {
        try await blocking {
            let tokens = (0..<300).map { "t\($0) " }
            let upstream = try ScriptedUpstream(.answer(tokens))
            let consumer = RecordingConsumer { generation, _ in
                generation.pause()
                generation.pause()
                generation.resume()
            }
            let answer = try ModelHarness(upstream.url).start(consumer).outcome()
            #expect(answer.isComplete)
            #expect(answer.content == tokens.joined())
        }
    }

    @Test func pauseAfterTheEndKeepsNoConnection() async throws {
        try await blocking {
            var limits = GenerationLimits.longTimeouts
            limits.rest = .milliseconds(50)
            let upstream = try ScriptedUpstream([.streamHead, .chunk(ModelLine.done()), .stall])
            let consumer = RecordingConsumer(onEnd: { $0.pause() })
            let harness = try ModelHarness(upstream.url, limits: limits)
            #expect(try harness.start(consumer).outcome().isComplete)
            try upstream.waitForClose(of: try #require(try upstream.waitForRequests(1).first))
        }
    }

    @Test func pauseIsNotSilence() async throws {
        try await blocking {
            var limits = GenerationLimits.longTimeouts
            limits.silence = .milliseconds(60)
            // Several chunks in one segment: bytes that were read before the pause still arrive, and must not start the timer.
            let chunks = ["a", "b", "c"].map { token in
                let line = ModelLine.token(token)
                return "\(String(line.utf8.count, radix: 16))\r\n\(line)\r\n"
            }
            let gate = Gate()
            let upstream = try ScriptedUpstream(
                [
                    .streamHead, .send(chunks.joined()), .wait(for: gate), .chunk(ModelLine.done()), .endChunks,
                    .acknowledged,
                ])
            let consumer = RecordingConsumer { generation, count in
                if count == 1 { generation.pause() }
            }
            let recorder = try ModelHarness(upstream.url, limits: limits).start(consumer)
            try recorder.wait("the lines came") { $0.lines.count == 3 }
            // Much longer than the limit, by the shard's clock.
            let over = Gate()
            let timer = ModelHarness.timer(after: .milliseconds(400)) { over.open() }
            #expect(over.wait())
            #expect(recorder.state.withLock { $0.ends.isEmpty })
            gate.open()
            // All bytes have arrived before the time advances.
            try upstream.waitForEnd(of: try #require(upstream.requests.first))
            recorder.command { $0.resume() }
            #expect(try recorder.outcome().isComplete)
            ModelHarness.drop(timer)
        }
    }

    @Test func bytesThatWaitForTheirTurnAreNotSilence() async throws {
        try await blocking {
            var limits = GenerationLimits.longTimeouts
            limits.silence = .zero
            // The answers before the last one use up what the shard reads in a turn, and take longer than the limit and a tick of its timers
            // (16 ms). However long they take, the last one must not end as silent.
            let long = ModelLine.token(String(repeating: "x", count: 48 * 1024))
            let paused = try (0..<5).map { number in
                let gate = Gate()
                let upstream = try ScriptedUpstream(
                    [
                        .streamHead, .chunk(ModelLine.token("a")), .wait(for: gate),
                        .chunk((number < 4 ? long : "") + ModelLine.done()), .endChunks, .acknowledged,
                    ])
                let recorder = try ModelHarness(upstream.url, limits: limits).start(
                    RecordingConsumer { generation, count in
                        if count == 1 {
                            generation.pause()
                        } else if number < 4 {
                            usleep(20_000)
                        }
                    })
                try recorder.wait("the line came") { $0.lines.count == 1 }
                gate.open()
                try upstream.waitForEnd(of: try #require(upstream.requests.first))
                return (upstream, recorder)
            }
            ModelHarness.onShard { _ in
                for (_, recorder) in paused {
                    recorder.generation?.resume()
                }
            }
            for (_, recorder) in paused {
                #expect(try recorder.outcome().isComplete)
            }
        }
    }

    @Test func cancellingClosesTheConnectionAndEndsAllCalls() async throws {
        try await blocking {
            let upstream = try ScriptedUpstream(
                [.streamHead, .chunk(ModelLine.token("a")), .forever([.chunk(ModelLine.token("b"))])])
            let recorder = try ModelHarness(upstream.url).start(RecordingConsumer(cancelsAfter: 3))
            try upstream.waitForRequests(1)
            try upstream.waitForClose(of: try #require(try upstream.waitForRequests(1).first))
            let answer = recorder.state.withLock { $0 }
            #expect(answer.lines.count == 3)
            #expect(answer.ends.isEmpty)
        }
    }

    @Test func cancellingBeforeTheHeadClosesTheConnection() async throws {
        try await blocking {
            let upstream = try ScriptedUpstream([.stall])
            let recorder = try ModelHarness(upstream.url).start()
            let request = try #require(try upstream.waitForRequests(1).first)
            recorder.command { $0.cancel() }
            try upstream.waitForClose(of: request)
            #expect(recorder.state.withLock { $0.ends.isEmpty })
        }
    }

    @Test(arguments: 0..<20)
    func textIsTheAnswerOfTheModel(_ seed: UInt64) async throws {
        try await blocking {
            var random = SeededGenerator(seed: seed)
            let tokens = (0..<20).map { _ in random.text(upTo: 30) }
            let bytes = Array((tokens.map { ModelLine.token($0) } + [ModelLine.done()]).joined().utf8)
            let pieces = random.pieces(of: bytes, upTo: 200)
            let upstream = try ScriptedUpstream([.streamHead] + pieces.map { .chunk($0) } + [.endChunks])
            let answer = try ModelHarness(upstream.url).ask()
            #expect(answer.isComplete)
            #expect(answer.text == Array(tokens.joined().utf8))
        }
    }
}
