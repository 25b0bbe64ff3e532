import ChatterdBasics
import ChatterdChat
import ChatterdHTTPClient
import ChatterdModelServers
import ChatterdTestSupport
import Testing

/// Answers of Llama Stack 0.2, over real sockets.
@Suite(.timeLimit(.minutes(30))) struct LlamaStackAnswerTests {
    private static func event(_ delta: String, _ type: String = "progress", _ reason: String? = nil) -> String {
        let rest = "\"logprobs\":null,\"stop_reason\":\(reason.map { "\"\($0)\"" } ?? "null")"
        return "data: {\"metrics\":null,\"event\":{\"event_type\":\"\(type)\",\"delta\":\(delta),\(rest)}}\n\n"
    }

    private static func text(_ text: String) -> String { event("{\"type\":\"text\",\"text\":\"\(text)\"}") }

    private static func call(_ call: String, _ status: String) -> String {
        event("{\"type\":\"tool_call\",\"tool_call\":\(call),\"parse_status\":\"\(status)\"}")
    }

    private static func end(_ reason: String = "end_of_turn", text: String = "") -> String {
        event("{\"type\":\"text\",\"text\":\"\(text)\"}", "complete", reason)
    }

    private func answer(_ events: [String]) throws -> Answer {
        try Peer(.llamastack, [.eventHead] + events.map { .chunk($0) } + [.endChunks]).ask()
    }

    private static let opening =
        #"{"model":"tiny","created_at":"1970-01-01T00:00:00.000000Z","message":{"role":"assistant","content":"#

    @Test func lastEventMayHaveText() async throws {
        try await blocking {
            let answer = try answer([Self.text("a"), Self.end(text: "b")])
            #expect(answer.isComplete)
            #expect(answer.content == "ab")
        }
    }

    @Test func lastEventMayLackItsBlankLine() async throws {
        try await blocking {
            let answer = try answer([Self.text("a"), String(Self.end().dropLast(2))])
            #expect(answer.isComplete)
            #expect(answer.content == "a")
        }
    }

    @Test func eventsAfterTheLastOneAreIgnored() async throws {
        try await blocking {
            let answer = try answer([Self.end("out_of_tokens") + Self.text("more") + Self.end()])
            #expect(answer.isComplete)
            #expect(answer.lines.count == 1)
            #expect(answer.lines.last?.contains("\"done_reason\":\"length\"") == true)
        }
    }

    @Test func piecesOfACallAreIgnoredIfItComesWhole() async throws {
        try await blocking {
            let whole = #"{"call_id":"c1","tool_name":"f","arguments":{"z":1,"a":2},"arguments_json":"{}"}"#
            let answer = try answer([
                Self.call("\"\"", "started"), Self.call("\"{\\\"z\\\":\"", "in_progress"),
                Self.call(whole, "succeeded"),
                Self.end("end_of_message"),
            ])
            #expect(answer.isComplete)
            #expect(
                answer.lines.first == Self.opening
                    + #""","tool_calls":[{"id":"c1","function":{"index":0,"name":"f","arguments":{"z":1,"a":2}}}]},"done":false}"#
            )
        }
    }

    @Test(arguments: [
        (#""arguments":"{\"a\": 1}""#, #"{"a": 1}"#), (#""arguments":"""#, "{}"), (#""arguments":null"#, "{}"),
        (#""arguments_json":"{\"a\":\"\\u0000\"}""#, #"{"a":"\ufffd"}"#), (#""more":[1]"#, "{}"),
    ])
    func argumentsBecomeAnObjectInAnyForm(members: String, object: String) async throws {
        try await blocking {
            let answer = try answer([
                Self.call("{\"tool_name\":\"f\",\"call_id\":\"\",\(members)}", "succeeded"), Self.end(),
            ])
            #expect(answer.isComplete)
            #expect(
                answer.lines.first == Self.opening
                    + "\"\",\"tool_calls\":[{\"function\":{\"index\":0,\"name\":\"f\",\"arguments\":\(object)}}]},\"done\":false}"
            )
        }
    }

    @Test(arguments: [
        call(#"{"tool_name":"f","arguments":"{"}"#, "succeeded"),
        call(#"{"tool_name":"","arguments":{}}"#, "succeeded"), call(#"{"arguments":{}}"#, "succeeded"),
        call("\"f(\"", "failed"), call("\"\"", "started") + end(), call("\"x\"", "in_progress") + end("end_of_message"),
        event(#"{"type":"image","image":"aGk="}"#), "data: garbage\n\n", "data: []\n\n", "data: {\n\n",
    ])
    func invalidAnswerIsMalformed(events: String) async throws {
        try await blocking {
            let answer = try answer([Self.text("a"), events, Self.end()])
            #expect(answer.code == .malformed)
            #expect(answer.content == "a")
        }
    }

    @Test(arguments: [
        (
            "400: Invalid value: Model 'nope' not found", ModelError.Code.modelNotFound,
            "Invalid value: Model 'nope' not found"
        ),
        ("400: Invalid value: temperature", .rejected, "Invalid value: temperature"),
        ("401: Invalid token", .unauthorized, "key"),
        ("429: Rate limit", .busy, "Rate limit"),
        ("500: Internal server error: An unexpected error occurred.", .failed, "Internal server error: An unexpected"),
        ("400: This model's maximum context length is 4096 tokens", .contextTooLong, "4096"),
        ("Connection error.", .failed, "Connection error."), ("200: fine?", .failed, "200: fine?"), ("", .failed, ""),
    ])
    func statusOfAnErrorIsReadFromItsMessage(words: String, code: ModelError.Code, says: String) async throws {
        try await blocking {
            for before in [[], [Self.text("a")]] {
                let answer = try answer(before + ["data: {\"error\": {\"message\": \(jsonString(words))}}\n\n"])
                #expect(answer.code == code)
                #expect(answer.ends.first??.message.contains(says) == true)
                if code == .contextTooLong { #expect(answer.ends.first??.contextLength == 4096) }
            }
        }
    }

    @Test(arguments: [
        (
            #"{"error":{"detail":{"errors":[{"loc":["body","x"],"msg":"Field required","type":"t"}]}}}"#,
            "Field required"
        ),
        (#"{"detail":"Not so"}"#, "Not so"),
    ])
    func errorBeforeTheStreamIsRead(body: String, says: String) async throws {
        try await blocking {
            let answer = try Peer(.llamastack, .plain(422, body)).ask()
            #expect(answer.code == .rejected)
            #expect(answer.ends.first??.message.contains(says) == true)
            let detail = try Peer(.llamastack, [.eventHead, .chunk("data: \(body)\n\n"), .endChunks]).ask()
            #expect(detail.code == (says == "Field required" ? .rejected : .failed))
        }
    }

    @Test func newerLlamaStackIsRecognised() async throws {
        try await blocking {
            let answer = try Peer(.llamastack, .plain(404, "")).ask()
            #expect(answer.code == .rejected)
            #expect(answer.ends.first??.message.contains("openai") == true)
        }
    }

    @Test func eventHasALimit() async throws {
        try await blocking {
            var limits = GenerationLimits.longTimeouts
            limits.line = 300
            let long = Self.text(String(repeating: "x", count: 400))
            let answer = try Peer(.llamastack, [.eventHead, .chunk(long), .stall], limits: limits).ask()
            #expect(answer.code == .malformed)
        }
    }

    @Test func requestHasItsPathKeyAndFields() async throws {
        try await blocking {
            let upstream = try ScriptedUpstream([.eventHead, .chunk(Self.end()), .endChunks])
            var description = UpstreamDescription(name: "s", kind: .llamastack, url: upstream.url + "/v1/")
            description.fields = [
                .init(name: "X-LlamaStack-Provider-Data", value: "{\"together_api_key\":\"k\"}")
            ]
            description.limits = .longTimeouts
            var longTimeouts = HTTPClientLimits()
            longTimeouts.connect = .seconds(600)
            let (described, limits) = (description, longTimeouts)
            let origin = try description.origin()
            let consumer = RecordingConsumer()
            ModelHarness.onShard { shard in
                let client = HTTPClient(shard: shard, limits: limits)
                let model = UpstreamModel(
                    described, origin: origin, key: "s3cret", client: client, shard: shard, now: { 0 })
                consumer.generation = model.generate(.greeting, to: consumer)
            }
            #expect(try consumer.outcome().isComplete)
            let request = try #require(upstream.requests.first)
            #expect(request.path == "/v1/inference/chat-completion")
            #expect(request["Authorization"] == "Bearer s3cret")
            #expect(request["X-LlamaStack-Provider-Data"] == "{\"together_api_key\":\"k\"}")
        }
    }

    @Test func unsupportedFieldEndsTheAnswerAndIsNotSent() async throws {
        try await blocking {
            let peer = try Peer(.llamastack, .plain(200, ""))
            var request = GenerationRequest.greeting
            request.passThrough = [RawMember(key: "keep_alive", value: Array("0".utf8))]
            let answer = try peer.ask(request)
            #expect(answer.code == .unsupported)
            #expect(answer.lines.isEmpty)
            #expect(peer.upstream.connectionCount == 0)
        }
    }
}

extension UpstreamStep {
    /// The head of a streamed answer in events.
    fileprivate static var eventHead: UpstreamStep {
        .head(200, [("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")])
    }
}
