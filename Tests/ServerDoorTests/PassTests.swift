import ChatterdConfiguration
import ChatterdTestSupport
import Testing

@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// `/v1/completions` and `/v1/embeddings` with model servers of each kind.
@Suite(.timeLimit(.minutes(30))) struct PassTests {
    private static let completions = "/v1/completions"
    private static let embeddings = "/v1/embeddings"

    /// The settings for a server of a kind with the model `tiny`, which it knows as `own`.
    private static func server(_ upstream: ScriptedUpstream, _ kind: String, _ more: String = "") -> [Setting: String] {
        let path = kind == "openai" ? "/v1" : ""
        let entry =
            #"{"name":"a","kind":"\#(kind)","url":"\#(upstream.url)\#(path)","models":["own"],"aliases":{"tiny":"own"}\#(more)}"#
        return [.upstreams: "[\(entry)]", .ollama: ""]
    }

    private static func events(_ texts: String...) -> [UpstreamStep] {
        [.head(200, [("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")])]
            + texts.map { .chunk("data: \($0)\n\n") }
    }

    private static func sent(_ upstream: ScriptedUpstream) -> String {
        String(decoding: upstream.requests.last?.body ?? [], as: UTF8.self)
    }

    private static func error(_ answer: HTTPExchange) -> [String: Any]? { answer.json["error"] as? [String: Any] }

    // MARK: - Servers of the kind openai

    @Test(arguments: [
        (completions, "/v1/completions", #"{"model":"tiny","prompt":[1,2],"n":2,"logprobs":1}"#),
        (embeddings, "/v1/embeddings", #"{"input":[[1,2]],"encoding_format":"base64","model":"tiny"}"#),
    ])
    func requestIsPassedOnAsItIs(_ path: String, _ upstreamPath: String, _ body: String) async throws {
        let answer = #"{"object":"list","usage":{"prompt_tokens":2}}"#
        let upstream = try ScriptedUpstream { _ in .plain(200, answer) }
        try await onStage(environment: Self.server(upstream, "openai")) { stage in
            let found = try RawClient.post(port: stage.port, path, json: body)
            #expect(found.status == 200 && found.text == answer + "\n", "\(found.text)")
            #expect(found["Content-Type"] == "application/json")
            #expect(upstream.requests.last?.path == upstreamPath)
            #expect(Self.sent(upstream) == body.replacing(#""tiny""#, with: #""own""#))
        }
    }

    @Test func eventsAreStreamedAsTheyCome() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream { _ in
            Self.events(#"{"choices":[{"text":"One"}]}"#) + [
                .wait(for: gate), .chunk("data: {\"choices\":[{\"text\":\"two\"}]}\n\ndata: [DONE]\n\n"), .endChunks,
            ]
        }
        try await onStage(environment: Self.server(upstream, "openai")) { stage in
            let client = try RawClient(port: stage.port)
            client.post(Self.completions, json: #"{"model":"tiny","prompt":"a","stream":true}"#)
            let head = try client.readHead()
            #expect(head.status == 200 && head["Content-Type"] == "text/event-stream")
            #expect(try client.nextDataEvent().data == #"{"choices":[{"text":"One"}]}"#)
            gate.open()
            #expect(try client.nextDataEvent().data == #"{"choices":[{"text":"two"}]}"#)
            #expect(try client.nextDataEvent().data == "[DONE]")
            #expect(client.nextEvent() == nil)
        }
    }

    @Test(arguments: [
        ([UpstreamStep.endChunks], "upstream_incomplete"), ([.closeWithoutFinishingChunks], "upstream_incomplete"),
        (
            [.chunk("data: {\"error\":{\"message\":\"out of memory\",\"code\":500}}\n\ndata: [DONE]\n\n"), .endChunks],
            "upstream_error"
        ),
    ])
    func streamWithoutItsEndEndsWithAnError(_ end: [UpstreamStep], _ code: String) async throws {
        let upstream = try ScriptedUpstream { _ in Self.events(#"{"choices":[{"text":"One"}]}"#) + end }
        try await onStage(environment: Self.server(upstream, "openai")) { stage in
            let answer = try RawClient.post(
                port: stage.port, Self.completions, json: #"{"model":"tiny","prompt":"a","stream":true}"#)
            #expect(answer.status == 200 && answer.end == .complete)
            #expect(answer.text.hasPrefix("data: {\"choices\""), "\(answer.text)")
            #expect(answer.text.contains("\"code\":\"\(code)\"") && !answer.text.contains("[DONE]"), "\(answer.text)")
        }
    }

    @Test func errorBeforeTheFirstEventHasItsStatus() async throws {
        let upstream = try ScriptedUpstream { request in
            request.number == 0
                ? Self.events(#"{"error":{"message":"bad grammar","type":"invalid_request_error"}}"#) + [.endChunks]
                : .plain(
                    400, #"{"error":{"message":"no such thing","type":"BadRequestError","param":null,"code":400}}"#)
        }
        try await onStage(environment: Self.server(upstream, "openai")) { stage in
            for message in ["bad grammar", "no such thing"] {
                let answer = try RawClient.post(
                    port: stage.port, Self.completions, json: #"{"model":"tiny","prompt":"a","stream":true}"#)
                #expect(answer.status == 400 && Self.error(answer)?["message"] as? String == message, "\(answer.text)")
                #expect(Self.error(answer)?["code"] is String)
            }
        }
    }

    @Test func clientThatLeavesEndsTheRequest() async throws {
        let upstream = try ScriptedUpstream { _ in Self.events(#"{"choices":[{"text":"One"}]}"#) + [.stall] }
        try await onStage(environment: Self.server(upstream, "openai")) { stage in
            let client = try RawClient(port: stage.port)
            client.post(Self.completions, json: #"{"model":"tiny","prompt":"a","stream":true}"#)
            _ = try client.readHead()
            _ = try client.nextDataEvent()
            client.reset()
            try upstream.waitForClose(of: upstream.requests[0])
        }
    }

    @Test func cutAnswerInOnePieceIsAnError() async throws {
        let upstream = try ScriptedUpstream { _ in
            [
                .head(200, [("Content-Type", "application/json"), ("Content-Length", "99")]), .send("{\"object\":"),
                .close,
            ]
        }
        try await onStage(environment: Self.server(upstream, "openai")) { stage in
            let answer = try RawClient.post(port: stage.port, Self.embeddings, json: #"{"model":"tiny","input":"a"}"#)
            #expect(answer.status == 502 && Self.error(answer)?["code"] as? String == "upstream_incomplete")
        }
    }

    // MARK: - Servers of the kind ollama

    @Test func ollamaIsAskedInItsForm() async throws {
        let upstream = try ScriptedUpstream { request in
            request.path == "/api/embed"
                ? .plain(200, #"{"embeddings":[[1,2]],"prompt_eval_count":3}"#)
                : .lines([
                    #"{"response":"One","done":false}"# + "\n",
                    #"{"response":"","done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":1}"# + "\n",
                ])
        }
        try await onStage(environment: Self.server(upstream, "ollama")) { stage in
            let vectors = try RawClient.post(port: stage.port, Self.embeddings, json: #"{"model":"tiny","input":"a"}"#)
            let data = try #require((vectors.json["data"] as? [[String: Any]])?.first, "\(vectors.text)")
            #expect(data["embedding"] as? [Int] == [1, 2] && vectors.json["model"] as? String == "tiny")
            #expect(Self.sent(upstream) == #"{"model":"own","input":"a"}"#)
            let text = try RawClient.post(
                port: stage.port, Self.completions, json: #"{"model":"tiny","prompt":"a","stream":true,"seed":1}"#)
            #expect(text.status == 200 && text["Content-Type"] == "text/event-stream")
            #expect(text.text.contains(#""text":"One""#) && text.text.hasSuffix("data: [DONE]\n\n"), "\(text.text)")
            #expect(upstream.requests.last?.path == "/api/generate")
            #expect(
                Self.sent(upstream) == #"{"model":"own","prompt":"a","stream":true,"options":{"seed":1}}"#)
        }
    }

    @Test func memberThatTheServerCannotHaveIsRefused() async throws {
        let upstream = try ScriptedUpstream { _ in [] }
        try await onStage(environment: Self.server(upstream, "ollama")) { stage in
            for (path, body, parameter) in [
                (Self.completions, #"{"model":"tiny","prompt":"a","echo":true}"#, "echo"),
                (Self.embeddings, #"{"model":"tiny","input":[1]}"#, "input"),
            ] {
                let answer = try RawClient.post(port: stage.port, path, json: body)
                #expect(answer.status == 400 && Self.error(answer)?["param"] as? String == parameter, "\(answer.text)")
            }
            #expect(upstream.requests.isEmpty)
        }
    }

    // MARK: - Limits

    @Test(arguments: ["llamastack", "echo"]) func otherKindsAreRefused(kind: String) async throws {
        let upstream = try ScriptedUpstream { _ in [] }
        let settings =
            kind == "echo" ? [.echo: "1", .ollama: ""] : Self.server(upstream, kind)
        try await onStage(environment: settings) { stage in
            let model = kind == "echo" ? "echo" : "tiny"
            for path in [Self.completions, Self.embeddings] {
                let answer = try RawClient.post(
                    port: stage.port, path, json: #"{"model":"\#(model)","prompt":"a","input":"a"}"#)
                let message = Self.error(answer)?["message"] as? String ?? ""
                #expect(answer.status == 400 && message.contains("of the kind ollama or openai"), "\(answer.text)")
            }
            #expect(upstream.requests.isEmpty)
        }
    }

    @Test func unknownModelIsNotFound() async throws {
        let upstream = try ScriptedUpstream { _ in [] }
        try await onStage(environment: Self.server(upstream, "openai")) { stage in
            let answer = try RawClient.post(port: stage.port, Self.embeddings, json: #"{"model":"none","input":"a"}"#)
            #expect(answer.status == 404 && Self.error(answer)?["code"] as? String == "model_not_found")
            let nameless = try RawClient.post(port: stage.port, Self.embeddings, json: #"{"input":"a"}"#)
            #expect(nameless.status == 400 && Self.error(nameless)?["type"] as? String == "invalid_request_error")
        }
    }

    @Test func requestWaitsForASlotAndCountsAsUse() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream { _ in
            [.wait(for: gate)]
                + .plain(200, #"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12}}"#)
        }
        let settings = Self.server(upstream, "openai", #","slots":1,"queue_limit":1"#).merging(withKeys) { $1 }
        try await onStage(environment: settings) { stage in
            let key = try stage.makeKey("shop")
            let body = #"{"model":"tiny","prompt":"a"}"#
            let clients = try (0..<2).map { number in
                let client = try RawClient(port: stage.port)
                client.post(Self.completions, json: body, fields: [("Authorization", "Bearer \(key)")])
                try eventually("its ticket is in the queue") {
                    try stage.cluster.query("SELECT count(*) FROM chatterd_queue", database: stage.database)
                        == [["\(number + 1)"]]
                }
                // Until the process knows that the ticket of the first one is stored, it may count it twice, and refuse the second one.
                if number == 0 { try upstream.waitForRequests(1) }
                return client
            }
            let full = try stage.call("POST", Self.completions, body, as: key)
            #expect(full.status == 503 && Self.error(full)?["code"] as? String == "overloaded", "\(full.text)")
            gate.open()
            for client in clients { #expect(try client.readResponse(of: "POST").status == 200) }
            try eventually("both are recorded") {
                let usage = try stage.call("GET", "/usage", as: key).text
                return usage.contains(#""prompt_tokens":10"#) && usage.contains(#""answer_tokens":14"#)
            }
        }
    }
}
