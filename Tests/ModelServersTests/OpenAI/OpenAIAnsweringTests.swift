import ChatterdBasics
import ChatterdChat
import ChatterdHTTPClient
import ChatterdModelServers
import ChatterdTestSupport
import Testing

/// Answers of servers of kind `openai`, over real sockets.
@Suite(.timeLimit(.minutes(30))) struct OpenAIAnsweringTests {
    private typealias Stream = OpenAIStream

    private static let head = UpstreamStep.head(
        200, [("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")])

    private func chunks(_ events: [String]) -> [UpstreamStep] {
        [Self.head] + events.map { .chunk($0) }
    }

    @Test func requestHasTheConversation() async throws {
        try await blocking {
            let upstream = try ScriptedUpstream(
                chunks([Stream.token("Hel"), Stream.token("lo"), Stream.finish, Stream.usage, Stream.done]) + [
                    .endChunks
                ])
            let answer = try ModelHarness(upstream.url, .openai, key: "s3cret").ask()
            #expect(answer.isComplete)
            #expect(answer.content == "Hello")
            let request = try #require(upstream.requests.first)
            #expect(request.path == "/v1/chat/completions")
            #expect(request["Authorization"] == "Bearer s3cret")
            #expect(
                String(decoding: request.body, as: UTF8.self)
                    == #"{"model":"tiny","messages":[{"role":"user","content":"Hi"}],"stream":true,"chat_template_kwargs":{"enable_thinking":true},"stream_options":{"include_usage":true}}"#
            )
        }
    }

    /// The answer comes while the consumer has paused, before the translation of the conversation has ended.
    @Test func pauseBeforeTheRequestIsSentHolds() async throws {
        try await blocking {
            let peer = try Peer(.openai, chunks([Stream.token("Hello"), Stream.finish, Stream.done]) + [.endChunks])
            let consumer = peer.start(.long) { $0.pause() }
            _ = try peer.upstream.waitForRequests(1)
            for _ in 0..<100 { ModelHarness.onShard { _ in } }
            #expect(consumer.state.withLock { $0.lines.isEmpty && $0.ends.isEmpty })
            consumer.command { $0.resume() }
            let answer = try consumer.outcome()
            #expect(answer.isComplete && answer.content == "Hello")
        }
    }

    @Test func cutAfterTheFinishReasonIsARegularEnd() async throws {
        try await blocking {
            let upstream = try ScriptedUpstream(chunks([Stream.token("a"), Stream.finish]) + [.close])
            #expect(try ModelHarness(upstream.url, .openai).ask().isComplete)
            let cut = try ScriptedUpstream(chunks([Stream.token("a")]) + [.close])
            #expect(try ModelHarness(cut.url, .openai).ask().code == .incomplete)
        }
    }

    @Test func countsAreAwaitedForAShortTime() async throws {
        try await blocking {
            var limits = GenerationLimits.longTimeouts
            limits.rest = .milliseconds(50)
            let upstream = try ScriptedUpstream(chunks([Stream.token("a"), Stream.finish]) + [.stall])
            let answer = try ModelHarness(upstream.url, .openai, limits: limits).ask()
            #expect(answer.isComplete)
            #expect(answer.lines.count == 2)
            try upstream.waitForClose(of: try #require(try upstream.waitForRequests(1).first))
        }
    }

    @Test func commentsDoNotKeepAnAnswerAlive() async throws {
        try await blocking {
            var limits = GenerationLimits.longTimeouts
            limits.firstByte = .milliseconds(300)
            let comments = UpstreamStep.forever([.chunk(": ping\n\n")])
            let upstream = try ScriptedUpstream([Self.head, comments])
            #expect(try ModelHarness(upstream.url, .openai, limits: limits).ask().code == .firstByteTimeout)
            limits = .longTimeouts
            limits.silence = .milliseconds(300)
            let second = try ScriptedUpstream(chunks([Stream.token("a")]) + [comments])
            #expect(try ModelHarness(second.url, .openai, limits: limits).ask().code == .silenceTimeout)
        }
    }

    @Test func unsupportedFieldIsRejectedBeforeAnythingIsSent() async throws {
        try await blocking {
            let upstream = try ScriptedUpstream(chunks([Stream.done]))
            let member = RawMember(key: "n", value: Array("2".utf8))
            let answer = try ModelHarness(upstream.url, .openai).start(members: [member]).outcome()
            #expect(answer.code == .unsupported)
            #expect(upstream.requests.isEmpty)
        }
    }

    @Test func busyServerReportsItsRetryDelay() async throws {
        try await blocking {
            let upstream = try ScriptedUpstream(
                .plain(429, #"{"error":{"message":"slow down"}}"#, fields: [("Retry-After", "7")]))
            let answer = try ModelHarness(upstream.url, .openai).ask()
            #expect(answer.code == .busy)
            #expect(answer.ends.first??.retryAfter == .seconds(7))
        }
    }
}
