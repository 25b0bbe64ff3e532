import ChatterdConfiguration
import ChatterdTestSupport
import Testing

@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// Prompts through the doors, without an identity.
@Suite(.timeLimit(.minutes(30))) struct DoorChatTests {
    private static let openAI = "/v1/chat/completions"

    /// A request of each door with a prompt.
    private static func body(_ path: String, stream: Bool, model: String = "tiny") -> String {
        let messages = #""messages":[{"role":"user","content":"Hi"}]"#
        return switch path {
        case "/api/generate": #"{"model":"\#(model)","prompt":"Hi","stream":\#(stream)}"#
        default: #"{"model":"\#(model)","max_tokens":9,\#(messages),"stream":\#(stream)}"#
        }
    }

    private static let paths = [openAI, "/api/chat", "/api/generate", "/v1/messages"]

    @Test func streamedCompletionIsThatOfTheModel() async throws {
        let upstream = try ScriptedUpstream.answering(["Hel", "lo"])
        try await onStage(upstream: upstream.url) { stage in
            let body =
                #"{"model":"tiny","messages":[{"role":"user","content":"Hi"}],"stream":true,"stream_options":{"include_usage":true}}"#
            let answer = try RawClient.post(port: stage.port, Self.openAI, json: body)
            #expect(answer.status == 200 && answer["Content-Type"] == "text/event-stream")
            #expect(answer["Location"]?.hasPrefix("/replies/") == true)
            let data = answer.events.compactMap(\.data)
            try #require(data.count == 6, "\(answer.text)")
            #expect(data.last == "[DONE]" && answer.events.allSatisfy { $0.id == nil && $0.name == nil })
            let choices = data.dropLast().compactMap { (object($0)["choices"] as? [[String: Any]])?.first }
            let text = choices.compactMap { ($0["delta"] as? [String: Any])?["content"] as? String }
            #expect(text == ["", "Hel", "lo"])
            #expect(choices.last?["finish_reason"] as? String == "stop")
            #expect((object(data[data.count - 2])["usage"] as? [String: Int])?["total_tokens"] == 31)
            #expect(upstream.requests.last?.messages == [["user", "Hi"]])
        }
    }

    @Test(arguments: paths)
    func answerThatIsNotStreamedIsOneObject(_ path: String) async throws {
        let upstream = try ScriptedUpstream.answering(["Hel", "lo"])
        try await onStage(upstream: upstream.url) { stage in
            let answer = try RawClient.post(port: stage.port, path, json: Self.body(path, stream: false))
            #expect(answer.status == 200 && answer["Content-Type"] == "application/json", "\(answer.text)")
            #expect(answer.text.contains(#""Hello""#))
            #expect(upstream.requests.last?.messages == [["user", "Hi"]])
        }
    }

    @Test(arguments: ["/api/chat", "/api/generate"])
    func linesOfOllamaAreStreamedByDefault(_ path: String) async throws {
        let upstream = try ScriptedUpstream.answering(["Hel", "lo"])
        try await onStage(upstream: upstream.url) { stage in
            let body = Self.body(path, stream: true).replacing(#","stream":true"#, with: "")
            let answer = try RawClient.post(port: stage.port, path, json: body)
            #expect(answer["Content-Type"] == "application/x-ndjson")
            let lines = answer.text.split(separator: "\n").map { object(String($0)) }
            let text = lines.map { ($0["message"] as? [String: Any])?["content"] ?? $0["response"] }
            #expect(text.compactMap { $0 as? String } == ["Hel", "lo", ""])
            #expect(lines.last?["done"] as? Bool == true && lines.last?["eval_count"] as? Int == 13)
        }
    }

    @Test func historyOfAClientIsSentAsItIs() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            let body =
                #"{"model":"tiny","max_tokens":9,"system":"s","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}"#
            let answer = try RawClient.post(port: stage.port, "/v1/messages", json: body)
            #expect(answer.status == 200)
            #expect(
                upstream.requests.last?.messages == [
                    ["system", "s"], ["user", "a"], ["assistant", "b"], ["user", "c"],
                ])
            #expect((upstream.requests.last?.json["options"] as? [String: Int])?["num_predict"] == 9)
        }
    }

    @Test(arguments: paths)
    func errorBeforeTheAnswerHasItsStatus(_ path: String) async throws {
        let upstream = try ScriptedUpstream(.error(400, "\"tiny\" does not support thinking"))
        try await onStage(upstream: upstream.url) { stage in
            for stream in [true, false] {
                let answer = try RawClient.post(port: stage.port, path, json: Self.body(path, stream: stream))
                #expect(answer.status == 400 && answer.text.contains("does not support thinking"), "\(answer.text)")
            }
        }
    }

    @Test(arguments: paths)
    func errorInTheAnswerIsInItsStream(_ path: String) async throws {
        let upstream = try ScriptedUpstream(.lines([ModelLine.token("Hel"), ModelLine.error("out of memory")]))
        try await onStage(upstream: upstream.url) { stage in
            let answer = try RawClient.post(port: stage.port, path, json: Self.body(path, stream: true))
            #expect(answer.status == 200 && answer.end == .complete)
            let last = try #require(answer.text.split(separator: "\n").last)
            let error = object(String(last.drop { $0 != "{" }))["error"]
            let message = error as? String ?? (error as? [String: Any])?["message"] as? String
            #expect(message?.contains("out of memory") == true, "\(answer.text)")
            #expect(!answer.text.contains("[DONE]") && !answer.text.contains("message_stop"))
            let whole = try RawClient.post(port: stage.port, path, json: Self.body(path, stream: false))
            #expect(whole.status == 502, "\(whole.text)")
        }
    }

    @Test func stoppedAnswerIsNoCompleteOne() async throws {
        let upstream = try ScriptedUpstream.stalling(after: "Hel")
        try await onStage(upstream: upstream.url) { stage in
            let client = try RawClient(port: stage.port)
            client.post(Self.openAI, json: Self.body(Self.openAI, stream: true))
            let location = try #require(try client.readHead()["Location"])
            _ = try stage.stop(location)
            let rest = String(decoding: client.readBody(), as: UTF8.self)
            #expect(rest.contains(#""code":"cancelled""#) && !rest.contains("[DONE]"), "\(rest)")
        }
    }

    @Test func streamOfAnthropicBeginsWithTheEstimateOfTheWholeRequest() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            let system = String(repeating: "word ", count: 800)
            var messages = #"{"role":"user","content":"Hi"}"#
            // The second request continues the conversation of the first one, whose messages leave the request.
            for turn in 0..<2 {
                let members = #""model":"tiny","system":"\#(system)","messages":[\#(messages)]"#
                let counted = try RawClient.post(
                    port: stage.port, "/v1/messages/count_tokens", json: "{\(members)}"
                ).json["input_tokens"]
                let tokens = try #require(counted as? Int)
                #expect(tokens > 1_000, "\(turn)")
                let answer = try RawClient.post(
                    port: stage.port, "/v1/messages", json: #"{"max_tokens":9,"stream":true,\#(members)}"#,
                    fields: [("X-App-ID", "estimates")])
                let usage = #""usage":{"input_tokens":\#(tokens),"cache_creation_input_tokens":0,"#
                #expect(answer.text.contains(usage), "\(answer.text)")
                messages += #",{"role":"assistant","content":"Hello"},{"role":"user","content":"And?"}"#
            }
        }
    }

    @Test func anotherServerAnswersWhenTheFirstFails() async throws {
        let (bad, good) = (try ScriptedUpstream(.error(500, "broken")), try ScriptedUpstream.answering(["Hello"]))
        try await onStage(upstream: "", environment: severalServers(.init("a", bad), .init("b", good))) { stage in
            let answer = try RawClient.post(port: stage.port, Self.openAI, json: Self.body(Self.openAI, stream: false))
            #expect(answer.status == 200 && answer.text.contains("Hello"), "\(answer.text)")
        }
    }

    @Test func restartAfterTextIsAnError() async throws {
        let broken = try ScriptedUpstream(.beginning(["Hel"], then: .closeWithoutFinishingChunks))
        let good = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: "", environment: severalServers(.init("a", broken), .init("b", good))) { stage in
            let answer = try RawClient.post(port: stage.port, Self.openAI, json: Self.body(Self.openAI, stream: true))
            #expect(answer.text.contains(#""code":"interrupted""#) && !answer.text.contains("[DONE]"), "\(answer.text)")
            let whole = try RawClient.post(port: stage.port, Self.openAI, json: Self.body(Self.openAI, stream: false))
            #expect(whole.status == 200 && whole.text.contains(#""content":"Hello""#), "\(whole.text)")
        }
    }

    @Test func headDoesNotWaitForASilentModel() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream(
            [.streamHead, .wait(for: gate)] + Array([UpstreamStep].answer(["Hello"]).dropFirst()))
        try await onStage(upstream: upstream.url, environment: [.keepAlive: "1s"]) { stage in
            let client = try RawClient(port: stage.port)
            client.post("/v1/messages", json: Self.body("/v1/messages", stream: true))
            #expect(try client.readHead().status == 200)
            gate.open()
            let text = String(decoding: client.readBody(), as: UTF8.self)
            #expect(text.hasPrefix("event: message_start\n") && text.contains("event: ping\n"), "\(text)")
            #expect(text.hasSuffix("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"))
        }
    }

    @Test func repeatedRequestGetsTheSameReply() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            let answers = try (0..<2).map { _ in
                try RawClient.post(
                    port: stage.port, Self.openAI, json: Self.body(Self.openAI, stream: true),
                    fields: [("Idempotency-Key", "k")])
            }
            #expect(answers[0]["Location"] == answers[1]["Location"])
            #expect(answers.allSatisfy { $0.text.contains("Hello") } && upstream.requests.count == 1)
        }
    }

    @Test func callsOfToolsAreInTheFormOfTheDoor() async throws {
        let upstream = try ScriptedUpstream(.lines(ModelLine.toolCalls([("f", #"{"a":1}"#)])))
        try await onStage(upstream: upstream.url) { stage in
            let completion = try RawClient.post(
                port: stage.port, Self.openAI, json: Self.body(Self.openAI, stream: true))
            #expect(
                completion.text.contains(#""arguments":"{\"a\":1}""#)
                    && completion.text.contains(#""finish_reason":"tool_calls""#))
            let message = try RawClient.post(
                port: stage.port, "/v1/messages", json: Self.body("/v1/messages", stream: false))
            #expect(
                message.text.contains(#""name":"f","input":{"a":1}"#)
                    && message.text.contains(#""stop_reason":"tool_use""#))
        }
    }
}
