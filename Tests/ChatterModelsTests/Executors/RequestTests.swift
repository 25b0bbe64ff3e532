import ChatterModels
import ChatterdTestSupport
import Testing

/// The bodies of requests, to the byte.
@Suite(.timeLimit(.minutes(30))) struct RequestTests {
    private static let transcript: [Message] = [
        .system("Be brief."),
        .user(UserMessage(Prompt(chunks: [.text("What is this?"), .image(ImageContent(base64: "aGk="))]))),
        .ai(AIMessage("", toolCalls: [ToolCall(id: "c1", toolName: "look", arguments: ["b": 1, "a": nil])])),
        .toolOutput(ToolOutput(id: "c1", toolName: "look", "A cat")), .ai("A cat."), .user("Sure?"),
    ]

    private func body(_ peer: WirePeer) async throws -> String {
        let server = try ScriptedUpstream(peer.steps(peer.answer(["Yes"])))
        let options = LLMReplyOptions(samplingMode: .greedy, backendOptions: [StructuredContent.Member("seed", 7)])
        _ = try await peer.llm(url: server.url).reply(to: Self.transcript, options: options)
        return String(decoding: try #require(server.requests.first).body, as: UTF8.self)
    }

    @Test(arguments: [
        (WirePeer.ollama, #""options":{"top_k":40,"seed":7}}"#), (.openAI, #","top_k":40,"seed":7}"#),
        (.openResponses, #","top_k":40,"seed":7}"#),
        (.llamaStack, #""sampling_params":{"strategy":{"type":"top_k","top_k":40}},"seed":7}"#),
    ])
    func topKAndSeedStandWhereTheServerReadsThem(_ peer: WirePeer, _ end: String) async throws {
        let server = try ScriptedUpstream(peer.steps(peer.answer(["Yes"])))
        _ = try await peer.llm(url: server.url).reply(to: "Sure?", options: LLMReplyOptions(topK: 40, seed: 7))
        let body = String(decoding: try #require(server.requests.first).body, as: UTF8.self)
        #expect(body.hasSuffix(end), "\(body)")
    }

    @Test func ollamaGetsItsForm() async throws {
        #expect(
            try await body(.ollama)
                == #"{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"What is this?","images":["aGk="]},{"role":"assistant","content":"","tool_calls":[{"id":"c1","function":{"name":"look","arguments":{"b":1,"a":null}}}]},{"role":"tool","content":"A cat","tool_name":"look","tool_call_id":"c1"},{"role":"assistant","content":"A cat."},{"role":"user","content":"Sure?"}],"stream":true,"options":{"temperature":0},"seed":7}"#
        )
    }

    @Test func chatCompletionsGetTheirForm() async throws {
        #expect(
            try await body(.openAI)
                == #"{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":[{"type":"text","text":"What is this?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"b\":1,\"a\":null}"}}]},{"role":"tool","tool_call_id":"c1","content":"A cat"},{"role":"assistant","content":"A cat."},{"role":"user","content":"Sure?"}],"stream":true,"stream_options":{"include_usage":true},"temperature":0,"seed":7}"#
        )
    }

    @Test func openResponsesGetTheirForm() async throws {
        #expect(
            try await body(.openResponses)
                == #"{"model":"m","input":[{"type":"message","role":"system","content":"Be brief."},{"type":"message","role":"user","content":[{"type":"input_text","text":"What is this?"},{"type":"input_image","image_url":"data:image/png;base64,aGk="}]},{"type":"function_call","call_id":"c1","name":"look","arguments":"{\"b\":1,\"a\":null}"},{"type":"function_call_output","call_id":"c1","output":"A cat"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"A cat.","annotations":[]}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"Sure?"}]}],"stream":true,"store":false,"temperature":0,"seed":7}"#
        )
    }

    @Test func llamaStackGetsItsForm() async throws {
        #expect(
            try await body(.llamaStack)
                == #"{"model_id":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":[{"type":"text","text":"What is this?"},{"type":"image","image":{"data":"aGk="}}]},{"role":"assistant","content":"","stop_reason":"end_of_message","tool_calls":[{"call_id":"c1","tool_name":"look","arguments":{"b":1,"a":null},"arguments_json":"{\"b\":1,\"a\":null}"}]},{"role":"tool","call_id":"c1","content":"A cat"},{"role":"assistant","content":"A cat.","stop_reason":"end_of_turn","tool_calls":[]},{"role":"user","content":"Sure?"}],"stream":true,"sampling_params":{"strategy":{"type":"greedy"}},"seed":7}"#
        )
    }
}
