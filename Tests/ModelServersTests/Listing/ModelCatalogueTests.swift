import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdSockets
import ChatterdTestSupport
import Testing

@testable import ChatterdChat
@testable import ChatterdDialects
@testable import ChatterdModelServers

/// The lists of models of model servers, over real sockets.
@Suite(.timeLimit(.minutes(30))) struct ModelCatalogueTests {
    /// Asks a server of a kind that answers these paths; it does not know other paths.
    private static func ask(
        _ kind: UpstreamDescription.Kind, _ pages: [String: [UpstreamStep]], within limit: Duration = .seconds(600),
        base: String = "",
        meanwhile: @escaping @Sendable (ScriptedUpstream, Task<Outcome, Never>) throws -> Void = { _, _ in }
    ) throws -> (outcome: Outcome, upstream: ScriptedUpstream) {
        let upstream = try ScriptedUpstream(probing: { pages[$0.path] ?? .plain(404, "") }, { _ in [] })
        let description = UpstreamDescription(name: "test", kind: kind, url: upstream.url + base)
        let origin = try description.origin()
        let shard = ModelHarness.onShard { $0 }
        var limits = HTTPClientLimits()
        limits.connect = .seconds(600)
        let client = Confined(HTTPClient(shard: shard, limits: limits), to: shard)
        let result = Monitor<Outcome?>(nil)
        let task = Task(executorPreference: shard) {
            var catalogue = ModelCatalogue(
                kind: kind, origin: origin, fields: [.authorization: "Bearer k", .contentType: "application/json"],
                client: client.value, shard: shard)
            catalogue.timeLimit = limit
            let outcome: Outcome
            do throws(ModelError) {
                outcome = .success(try await catalogue.models())
            } catch {
                outcome = .failure(error)
            }
            result.withLock { $0 = outcome }
            return outcome
        }
        try meanwhile(upstream, task)
        guard let outcome = result.wait(upTo: 600, until: { $0 }) else { throw TestFailure("no outcome") }
        return (outcome, upstream)
    }

    typealias Outcome = Result<[ModelDescription], ModelError>

    @Test func ollamaReportsItsModelsAndTheContextOfLoadedOnes() async throws {
        try await blocking {
            let tags =
                #"{"models":[{"name":"a:latest","model":"a:latest","details":{"context_length":8192}},"#
                + #"{"name":"b:1","capabilities":["completion","tools"]},{"name":"e","capabilities":["embedding"]},"#
                + #"{"name":"o","capabilities":[]},{"size":1},7]}"#
            let loaded = #"{"models":[{"name":"b:1","context_length":4096,"size_vram":1},{"name":"gone"}]}"#
            let (outcome, upstream) = try Self.ask(
                .ollama, ["/api/tags": .plain(200, tags), "/api/ps": .plain(200, loaded)])
            #expect(
                try outcome.get() == [
                    ModelDescription(name: "a:latest"), ModelDescription(name: "b:1", contextLength: 4096),
                    ModelDescription(name: "e", canChat: false), ModelDescription(name: "o"),
                ])
            #expect(upstream.probes.map(\.path) == ["/api/tags", "/api/ps"])
            #expect(upstream.probes.allSatisfy { $0["Authorization"] == "Bearer k" && $0["Content-Type"] == nil })
        }
    }

    @Test(arguments: [#"{"models":[]}"#, #"{"models":null}"#])
    func emptyListIsNoError(body: String) async throws {
        try await blocking {
            // The second request may fail in any way.
            let (outcome, _) = try Self.ask(.ollama, ["/api/tags": .plain(200, body)])
            #expect(try outcome.get() == [])
        }
    }

    @Test(arguments: ["", "/v1", "/v1/chat/completions"])
    func vLLMReportsTheContextLength(base: String) async throws {
        try await blocking {
            let list =
                #"{"object":"list","data":[{"id":"m","object":"model","root":"m","max_model_len":8192,"#
                + #""permission":[{"id":"p"}]},{"id":"lora","max_model_len":null}]}"#
            let (outcome, upstream) = try Self.ask(.openai, ["/v1/models": .plain(200, list)], base: base)
            #expect(
                try outcome.get() == [ModelDescription(name: "m", contextLength: 8192), ModelDescription(name: "lora")])
            #expect(upstream.probes.map(\.path) == ["/v1/models"])
        }
    }

    @Test(arguments: [
        (#"{"default_generation_settings":{"n_ctx":2048,"params":{"n_ctx":1}},"total_slots":4}"#, 2048),
        (#"{"default_generation_settings":{}}"#, 32768), ("garbage", 32768),
    ])
    func llamaCppReportsTheContextLengthOfEachAnswer(properties: String, length: Int) async throws {
        try await blocking {
            let list =
                #"{"models":[{"name":"M.gguf"}],"object":"list","data":[{"id":"M.gguf","owned_by":"llamacpp","#
                + #""meta":{"n_ctx_train":32768,"n_params":1}}]}"#
            let (outcome, upstream) = try Self.ask(
                .openai, ["/v1/models": .plain(200, list), "/props": .plain(200, properties)])
            #expect(try outcome.get() == [ModelDescription(name: "M.gguf", contextLength: length)])
            #expect(upstream.probes.map(\.path) == ["/v1/models", "/props"])
        }
    }

    @Test func nameThatNoRequestCanHaveIsNotListed() async throws {
        try await blocking {
            let names = [
                "a\\u001b]0;title\\u0007", "a\\nb", "a\\u009b31m", String(repeating: "x", count: 257), "", "m",
            ]
            let entries = names.map { #"{"id":"\#($0)"}"# }.joined(separator: ",")
            let list = #"{"object":"list","data":[\#(entries)]}"#
            let (outcome, _) = try Self.ask(.openai, ["/v1/models": .plain(200, list)])
            #expect(try outcome.get().map(\.name) == ["m"])
        }
    }

    @Test func servedContextCountsMoreThanTheTrainedOne() async throws {
        try await blocking {
            let list =
                #"{"models":[{"name":"M.gguf","model":"M.gguf","size":"","tags":[""],"capabilities":["completion"],"#
                + #""details":{"format":"gguf","families":[""]}}],"object":"list","data":[{"id":"M.gguf","#
                + #""aliases":["M.gguf"],"tags":[],"object":"model","created":1795206931,"owned_by":"llamacpp","#
                + #""architecture":{"input_modalities":["text"]},"meta":{"vocab_type":2,"n_ctx":4096,"n_ctx_train":32768}}]}"#
            let (outcome, upstream) = try Self.ask(.openai, ["/v1/models": .plain(200, list)])
            #expect(try outcome.get() == [ModelDescription(name: "M.gguf", contextLength: 4096)])
            #expect(upstream.probes.count == 1)
        }
    }

    @Test func llamaStackReportsWhichModelsChat() async throws {
        try await blocking {
            let list =
                #"{"data":[{"identifier":"ollama/m","provider_resource_id":"x","type":"model","model_type":"llm","#
                + #""metadata":{}},{"identifier":"e","model_type":"embedding","metadata":{"context_length":512}}]}"#
            let (outcome, _) = try Self.ask(.llamastack, ["/v1/models": .plain(200, list)])
            #expect(
                try outcome.get() == [
                    ModelDescription(name: "ollama/m"), ModelDescription(name: "e", canChat: false),
                ])
        }
    }

    @Test(arguments: [
        ([UpstreamStep].plain(401, #"{"error":"Unauthorized"}"#), ModelError.Code.unauthorized),
        (.plain(404, ""), .rejected), (.plain(503, #"{"error":{"message":"Loading model"}}"#), .busy),
        (.plain(500, "oops", type: "text/plain"), .failed), (.plain(200, "<html>", type: "text/html"), .malformed),
        (.plain(200, "{}"), .malformed), (.plain(200, "[]"), .malformed), (.plain(200, ""), .malformed),
        (.plain(200, #"{"data":{}}"#), .malformed), (.plain(200, #"{"data":["#), .malformed), ([.close], .unavailable),
        (.plain(307, "", fields: [("Location", "http://127.0.0.1:1/")]), .malformed),
        ([.head(200, [("Content-Length", "9")]), .send("{"), .close], .incomplete),
    ])
    func everyFailureHasItsCode(steps: [UpstreamStep], code: ModelError.Code) async throws {
        try await blocking {
            let (outcome, _) = try Self.ask(.openai, ["/v1/models": steps])
            let error = #expect(throws: ModelError.self) { try outcome.get() }
            #expect(error?.code == code)
            #expect(error?.message.isEmpty == false)
        }
    }

    @Test func listHasALimit() async throws {
        try await blocking {
            let piece = UpstreamStep.chunk(String(repeating: " ", count: 64 * 1024))
            let (outcome, upstream) = try Self.ask(
                .openai, ["/v1/models": [.head(200, [("Transfer-Encoding", "chunked")]), .forever([piece])]])
            #expect(throws: ModelError.self) { try outcome.get() }
            try upstream.waitForClose(of: upstream.probes[0])
        }
    }

    @Test func listingHasATimeout() async throws {
        try await blocking {
            let (outcome, upstream) = try Self.ask(.openai, ["/v1/models": [.stall]], within: .milliseconds(100))
            let error = #expect(throws: ModelError.self) { try outcome.get() }
            #expect(error?.code == .firstByteTimeout)
            // The timeout may pass before the request is sent.
            if let probe = upstream.probes.first {
                try upstream.waitForClose(of: probe)
            }
        }
    }

    @Test func cancelledTaskEndsAtOnce() async throws {
        try await blocking {
            let asked = Gate()
            let (outcome, upstream) = try Self.ask(.ollama, ["/api/tags": [.open(asked), .stall]]) { _, task in
                #expect(asked.wait())
                task.cancel()
            }
            let error = #expect(throws: ModelError.self) { try outcome.get() }
            #expect(error?.code == .firstByteTimeout)
            try upstream.waitForClose(of: upstream.probes[0])
        }
    }
}
