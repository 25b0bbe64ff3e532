import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdServer
import ChatterdTestSupport
import Dispatch
import Glibc
import Testing

@testable import ChatterdServerTestSupport

/// Conversations that are longer than the context of a model, from the client to the model server and back.
@Suite(.timeLimit(.minutes(30))) struct ContextTests {
    private typealias Receipt = [String: Any]

    /// The setting for one model server, of a kind, with further members of its entry.
    private func server(
        _ upstream: ScriptedUpstream, _ kind: String = "ollama", _ members: String = ""
    ) -> [Setting: String] {
        let entry = "\"name\":\"gpu\",\"kind\":\"\(kind)\",\"url\":\"\(upstream.url)\",\"models\":[\"tiny\"]"
        return [.upstreams: "[{\(entry)\(members.isEmpty ? "" : "," + members)}]"]
    }

    /// Begins a conversation with a system prompt and the given number of exchanges, each with the given bytes of text.
    private func seed(_ stage: Stage, exchanges: Int, of size: Int) throws {
        var messages = [#"{"role":"system","content":"Be brief."}"#]
        for index in 1...exchanges {
            let question = "question \(index) " + String(repeating: "word ", count: size / 10)
            let answer = String(repeating: "word ", count: size / 10)
            messages.append("{\"role\":\"user\",\"content\":\"\(question)\"}")
            messages.append("{\"role\":\"assistant\",\"content\":\"\(answer)\"}")
        }
        let body = "{\"appID\":\"app\",\"model\":\"m\",\"messages\":[\(messages.joined(separator: ","))]}"
        #expect(try RawClient.post(port: stage.port, "/llmprep", json: body).status == 200)
    }

    /// The provenance in a reply's JSON.
    private func receipt(_ exchange: HTTPExchange, _ stage: Stage) throws -> Receipt {
        let location = try #require(exchange["Location"])
        let receipt = try stage.describe(location).json["receipt"] as? Receipt
        return try #require(receipt)
    }

    /// The messages that a model server got, as `role: first words`.
    private func said(_ request: UpstreamRequest) -> [String] {
        request.messages.map { "\($0[0]): \($0[1].split(separator: " ").prefix(2).joined(separator: " "))" }
    }

    private func options(_ request: UpstreamRequest) -> [String: Int] {
        request.json["options"] as? [String: Int] ?? [:]
    }

    /// An answer of Ollama with the server's count of the tokens of the prompt.
    private static func answer(counting tokens: Int) -> [UpstreamStep] {
        .lines([
            ModelLine.token("Hello"),
            #"{"model":"tiny","created_at":"\#(ModelLine.time)","message":{"role":"assistant","content":""},"#
                + #""done":true,"done_reason":"stop","prompt_eval_count":\#(tokens),"eval_count":1}"# + "\n",
        ])
    }

    /// An answer in events.
    private static func events(counting tokens: Int) -> [UpstreamStep] {
        let events = [
            #"{"id":"1","object":"chat.completion.chunk","created":1,"model":"tiny","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello"},"finish_reason":null}]}"#,
            #"{"id":"1","object":"chat.completion.chunk","created":1,"model":"tiny","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
            #"{"id":"1","object":"chat.completion.chunk","created":1,"model":"tiny","choices":[],"usage":{"prompt_tokens":\#(tokens),"completion_tokens":1,"total_tokens":\#(tokens + 1)}}"#,
            "[DONE]",
        ]
        return [.head(200, [("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")])]
            + events.map { .chunk("data: \($0)\n\n") } + [.endChunks]
    }

    /// A server that accepts 4,096 tokens of four bytes, and refuses longer prompts with the message that `refusal` returns for a count.
    private static func strict(_ refusal: @escaping @Sendable (Int) -> String) throws -> ScriptedUpstream {
        try ScriptedUpstream { request in
            let tokens = request.body.count / 4
            return tokens > 4_096 ? .plain(400, refusal(tokens)) : events(counting: tokens)
        }
    }

    @Test func conversationIsFittedToTheContextOfTheModel() async throws {
        let upstream = try ScriptedUpstream(Self.answer(counting: 340))
        try await onStage(environment: server(upstream, "ollama", #""context":600"#)) { stage in
            try seed(stage, exchanges: 10, of: 400)
            let answer = try stage.chat("app", "the prompt")
            #expect(Transcript(answer).outcome == .done)
            let request = try #require(upstream.requests.first)
            #expect(options(request) == ["num_ctx": 600])
            #expect(
                said(request) == [
                    "system: Be brief.", "user: question 8", "assistant: word word", "user: question 9",
                    "assistant: word word", "user: question 10", "assistant: word word", "user: the prompt",
                ])
            let receipt = try receipt(answer, stage)
            #expect(receipt["messages"] as? Int == 8 && receipt["context"] as? Int == 600)
            #expect(receipt["sent"] as? [[Int]] == [[1, 1], [16, 22]])
            let left = receipt["left_out"] as? [[String: Any]]
            #expect(left?.count == 1 && left?.first?["from"] as? Int == 2 && left?.first?["to"] as? Int == 15)
            #expect(left?.first?["why"] as? String == "context")
            #expect(receipt["prompt_tokens"] as? Int == 340 && receipt["cut_by_server"] as? Bool == false)
            #expect((receipt["estimated_tokens"] as? Int).map { $0 <= 450 } == true)
            // The turns that were left out are still in the conversation.
            #expect(try stage.rows("app").count == 23)
        }
    }

    @Test func contextOfTheClientIsUsed() async throws {
        let upstream = try ScriptedUpstream(Self.answer(counting: 340))
        try await onStage(environment: server(upstream, "ollama", #""context":100000"#)) { stage in
            try seed(stage, exchanges: 10, of: 400)
            let answer = try stage.ask("app", "the prompt", adding: #","options":{"num_ctx":600,"num_predict":300}"#)
            let request = try #require(upstream.requests.first)
            #expect(options(request) == ["num_ctx": 600, "num_predict": 300])
            #expect(request.messages.count == 6)
            #expect(try receipt(answer, stage)["context"] as? Int == 600)
        }
    }

    @Test func wholeHistoryIsSentWithoutAKnownContext() async throws {
        let upstream = try ScriptedUpstream(Self.answer(counting: 1_200))
        try await onStage(environment: server(upstream)) { stage in
            try seed(stage, exchanges: 10, of: 400)
            let answer = try stage.chat("app", "the prompt")
            let request = try #require(upstream.requests.first)
            #expect(request.messages.count == 22 && request.json["options"] == nil)
            let receipt = try receipt(answer, stage)
            #expect(receipt["sent"] as? [[Int]] == [[1, 22]] && receipt["left_out"] == nil)
            #expect(receipt["context"] == nil && receipt["cut_by_server"] as? Bool == false)
        }
    }

    @Test func promptLargerThanTheContextIsNotSent() async throws {
        let upstream = try ScriptedUpstream(Self.answer(counting: 300))
        try await onStage(environment: server(upstream, "ollama", #""context":300"#)) { stage in
            let transcript = Transcript(try stage.chat("app", String(repeating: "word ", count: 400)))
            transcript.check()
            #expect(transcript.outcome == .error("context_too_long"))
            #expect(transcript.error["retryable"] as? Bool == false && transcript.words.contains("300 tokens"))
            #expect(upstream.requests.isEmpty)
            // The conversation stays usable.
            #expect(Transcript(try stage.chat("app", "short")).outcome == .done)
            #expect(upstream.requests.first?.messages == [["user", "short"]])
        }
    }

    @Test(arguments: [
        "llama.cpp", "vLLM", "without numbers",
    ])
    func refusedPromptIsSentAgainWithLessHistory(_ server: String) async throws {
        let upstream = try Self.strict { tokens in
            switch server {
            case "llama.cpp":
                #"{"error":{"code":400,"message":"request (\#(tokens) tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":\#(tokens),"n_ctx":4096}}"#
            case "vLLM":
                #"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested \#(tokens + 200) tokens (\#(tokens) in the messages, 200 in the completion). Please reduce the length of the messages or completion.","type":"BadRequestError","param":null,"code":400}"#
            default:
                #"{"error":{"message":"The prompt is too long.","type":"invalid_request_error"}}"#
            }
        }
        try await onStage(environment: self.server(upstream, "openai")) { stage in
            try seed(stage, exchanges: 20, of: 1_000)
            let answer = try stage.chat("app", "the prompt")
            let transcript = Transcript(answer)
            transcript.check()
            try #require(transcript.outcome == .done && transcript.text == "Hello", "\(transcript.error)")
            try #require(upstream.requests.count == 2)
            #expect(upstream.requests[0].messages.count == 42)
            let sent = upstream.requests[1].messages
            #expect(said(upstream.requests[1]).first == "system: Be brief." && sent.last == ["user", "the prompt"])
            #expect(sent.count % 2 == 0 && sent[1][0] == "user" && sent.count > 20)
            let receipt = try receipt(answer, stage)
            #expect(receipt["messages"] as? Int == sent.count && receipt["cut_by_server"] as? Bool == false)
            #expect((receipt["left_out"] as? [[String: Any]])?.first?["why"] as? String == "context")
            guard server != "without numbers" else { return }
            #expect(receipt["context"] as? Int == 4_096)
            // The limit of the server is known now.
            #expect(Transcript(try stage.chat("app", "another")).outcome == .done)
            #expect(upstream.requests.count == 3)
        }
    }

    @Test func refusalOfTheServerIsReportedIfNoPromptFits() async throws {
        let upstream = try ScriptedUpstream(
            .plain(
                400,
                #"{"error":{"code":400,"message":"request (5000 tokens) exceeds the available context size (4096 tokens)","type":"exceed_context_size_error"}}"#
            ))
        try await onStage(environment: server(upstream, "openai")) { stage in
            try seed(stage, exchanges: 20, of: 1_000)
            let transcript = Transcript(try stage.chat("app", "the prompt"))
            transcript.check()
            #expect(transcript.outcome == .error("context_too_long"))
            #expect(2...4 ~= upstream.requests.count)
            let counts = upstream.requests.map(\.messages.count)
            #expect(zip(counts, counts.dropFirst()).allSatisfy { $0 > $1 }, "each request is shorter than the last")
        }
    }

    @Test func refusalOfAPromptWithoutHistoryIsReportedAtOnce() async throws {
        let upstream = try ScriptedUpstream(
            .plain(400, #"{"error":{"message":"This model's maximum context length is 64 tokens.","code":400}}"#))
        try await onStage(environment: server(upstream, "openai")) { stage in
            let transcript = Transcript(try stage.chat("app", String(repeating: "word ", count: 100)))
            transcript.check()
            #expect(transcript.outcome == .error("context_too_long") && upstream.requests.count == 1)
            #expect(transcript.words == "This model's maximum context length is 64 tokens.")
        }
    }

    @Test func listedContextIsUsedFromThenOn() async throws {
        let list = #"{"object":"list","data":[{"id":"tiny","object":"model","max_model_len":600}]}"#
        let upstream = try ScriptedUpstream(probing: { _ in .plain(200, list) }) { _ in Self.events(counting: 340) }
        try await onStage(environment: server(upstream, "openai")) { stage in
            try seed(stage, exchanges: 10, of: 400)
            #expect(try stage.send("GET", "/models").status == 200)
            let answer = try stage.chat("app", "the prompt")
            #expect(Transcript(answer).outcome == .done)
            #expect(try receipt(answer, stage)["context"] as? Int == 600)
            #expect(upstream.requests.last?.messages.count == 8)
        }
    }

    @Test func promptCutByTheServerIsLoggedOnce() async throws {
        let upstream = try ScriptedUpstream(Self.answer(counting: 2_048), Self.answer(counting: 2_048))
        let lines = try LoggedLines()
        try await onStage(environment: server(upstream), log: lines.log) { stage in
            let answer = try stage.chat("app", String(repeating: "some words ", count: 4_000))
            #expect(Transcript(answer).outcome == .done)
            let receipt = try receipt(answer, stage)
            #expect(receipt["prompt_tokens"] as? Int == 2_048 && receipt["cut_by_server"] as? Bool == true)
        }
        let warnings = lines.all().filter { $0.contains("model server cut the prompt") }
        #expect(warnings.count == 1 && warnings.first?.contains(#""upstream":"gpu""#) == true, "\(warnings)")
        #expect(warnings.first?.contains("some words") == false)
    }

    @Test func failedTurnsAreInTheReceipt() async throws {
        let upstream = try ScriptedUpstream { request in
            request.number == 1 ? .error(500, "out of memory") : Self.answer(counting: 30)
        }
        try await onStage(environment: server(upstream)) { stage in
            for prompt in ["a", "b"] {
                _ = try stage.chat("app", prompt)
            }
            let receipt = try receipt(try stage.chat("app", "c"), stage)
            #expect(receipt["sent"] as? [[Int]] == [[1, 2], [5, 5]])
            let left = receipt["left_out"] as? [[String: Any]]
            #expect(left?.count == 1 && left?.first?["why"] as? String == "not_complete")
            #expect(left?.first?["from"] as? Int == 3 && left?.first?["to"] as? Int == 4)
        }
    }
}

/// A log whose lines can be read.
private final class LoggedLines: Sendable {
    let log: Log
    private let file: File

    init() throws {
        let file = try File()
        self.file = file
        // The log may still write: its descriptor must stay open until the log is released.
        log = Log(
            descriptor: file.descriptor,
            clock: { withExtendedLifetime(file) { Log.systemClock() } })
    }

    func all() -> [String] {
        log.flush(within: .seconds(600))
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = pread(file.descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// A file without a name, open until the object is released.
    private final class File: Sendable {
        let descriptor: Int32

        init() throws {
            var name = Array("/tmp/chatterd-log-XXXXXX".utf8CString)
            descriptor = mkstemp(&name)
            guard descriptor >= 0 else { throw TestFailure("no file for the log") }
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            unlink(name)
        }

        deinit { close(descriptor) }
    }
}
