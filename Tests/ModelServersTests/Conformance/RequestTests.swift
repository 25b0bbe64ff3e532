import ChatterdChat
import ChatterdModelServers
import ChatterdSockets
import ChatterdTestSupport
import Testing

/// The requests to each kind of server for the same conversation, compared as JSON.
@Suite(.timeLimit(.minutes(30))) struct RequestTests {
    /// A request, and the body for one kind of server.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let kind: UpstreamDescription.Kind
        let request: GenerationRequest
        let body: String

        init(_ name: String, _ kind: UpstreamDescription.Kind, _ request: GenerationRequest, _ body: String) {
            testDescription = "\(kind.rawValue): \(name)"
            self.kind = kind
            self.request = request
            self.body = body
        }
    }

    @Test(arguments: ollama + openAI + llamaStack)
    func requestIsTranslatedForTheServer(_ asked: Case) async throws {
        try await blocking {
            let peer = try Peer(asked.kind, [.close])
            _ = try peer.ask(asked.request)
            let request = try #require(peer.upstream.requests.first)
            #expect(request.method == "POST")
            #expect(request.path == Self.paths[asked.kind])
            #expect(request["Content-Type"] == "application/json")
            #expect(request["Content-Length"] == String(request.body.count))
            let body = try JSONTree(String(decoding: request.body, as: UTF8.self))
            let expected = try JSONTree(asked.body)
            #expect(body.sorted.description == expected.sorted.description)
        }
    }

    private static let kinds: [UpstreamDescription.Kind] = [.ollama, .openai, .llamastack]

    @Test(arguments: kinds)
    func longConversationIsSentAsItIs(kind: UpstreamDescription.Kind) async throws {
        try await blocking {
            let peer = try Peer(kind, [.close])
            _ = try peer.ask(.long)
            let body = String(decoding: try #require(peer.upstream.requests.first).body, as: UTF8.self)
            #expect(body.contains(String(repeating: "long ", count: LongWork.size / 4)))
        }
    }

    /// The translation may not be finished when its consumer leaves.
    @Test(arguments: kinds.dropFirst())
    func cancelledLongConversationIsNotSent(kind: UpstreamDescription.Kind) async throws {
        try await blocking {
            let peer = try Peer(kind, [.close])
            let cancelled = peer.start(.long) { $0.cancel() }
            _ = try peer.ask(.long)
            #expect(peer.upstream.requests.count == 1)
            #expect(cancelled.state.withLock(\.ends).isEmpty)
        }
    }

    @Test(arguments: unsaid)
    func unsupportedMembersAreRejected(_ member: Member) async throws {
        try await blocking {
            let peer = try Peer(member.kind, [.close])
            let answer = try peer.ask(.greeting(member.key, member.value))
            #expect(answer.code == .unsupported)
            #expect(answer.ends.first??.message.contains(member.named) == true)
            #expect(peer.upstream.connectionCount == 0)
        }
    }

    /// A member of a request that one kind of server cannot express.
    struct Member: Sendable {
        let kind: UpstreamDescription.Kind
        let key: String
        let value: String
        let named: String

        init(_ kind: UpstreamDescription.Kind, _ key: String, _ value: String, named: String? = nil) {
            self.kind = kind
            self.key = key
            self.value = value
            self.named = "\"\(named ?? key)\""
        }
    }

    static let unsaid = [
        Member(.openai, "n", "2"), Member(.openai, "format", "7"), Member(.openai, "think", "{}"),
        Member(.openai, "options", "[]"), Member(.openai, "options", #"{"model":"other"}"#, named: "options.model"),
        Member(.llamastack, "think", "true"), Member(.llamastack, "keep_alive", "5"),
        Member(.llamastack, "options", #"{"temperature":1,"min_p":0.1}"#, named: "min_p"),
        Member(.llamastack, "options", #"{"seed":7}"#, named: "seed"),
        Member(.llamastack, "options", #"{"num_ctx":4096}"#, named: "num_ctx"),
        Member(.llamastack, "options", #"{"presence_penalty":1}"#, named: "presence_penalty"),
        Member(.llamastack, "format", "7"), Member(.llamastack, "logit_bias", "{}"),
    ]

    private static let paths: [UpstreamDescription.Kind: String] = [
        .ollama: "/api/chat", .openai: "/v1/chat/completions", .llamastack: "/v1/inference/chat-completion",
    ]

    // MARK: - Conversations

    /// A picture of a few bytes, as it begins in each format.
    private static let png = "iVBORw0KGgo="
    private static let jpeg = "/9j/4AAQ"
    private static let webp = "UklGRiQA"

    /// A conversation with all kinds of messages.
    private static let conversation = [
        ModelMessage(role: "system", content: "Be brief."),
        ModelMessage(
            role: "user", content: "What is this? \"é\u{1F600}\"\n",
            extras: "\"images\":[\"\(png)\",\"\(jpeg)\",\"\(webp)\"]"),
        ModelMessage(
            role: "assistant", content: "",
            extras:
                #""tool_calls":[{"id":"a1","function":{"index":0,"name":"look","arguments":{"z":1,"a":{"y":"\"é\""}}}},{"function":{"name":"now","arguments":{}}}]"#
        ),
        ModelMessage(role: "tool", content: "a cat", extras: #""tool_name":"look","tool_call_id":"a1""#),
        ModelMessage(role: "tool", content: "noon", extras: #""tool_name":"now""#),
        ModelMessage(role: "assistant", content: "A cat, at noon."),
        ModelMessage(role: "user", content: "Thank you."),
    ]

    private static let tools =
        #"[{"type":"function","function":{"name":"look","description":"Looks.","parameters":{"type":"object","properties":{"z":{"type":"integer"}},"required":["z"]}}}]"#

    private static let ollama: [Case] = [
        Case(
            "a conversation", .ollama,
            .asking(
                conversation, [("tools", tools), ("think", "\"high\""), ("format", "\"json\""), ("keep_alive", "-1")]),
            """
            {"model":"tiny","messages":[
            {"role":"system","content":"Be brief."},
            {"role":"user","content":"What is this? \\"é\u{1F600}\\"\\n","images":["\(png)","\(jpeg)","\(webp)"]},
            {"role":"assistant","content":"","tool_calls":[{"id":"a1","function":{"index":0,"name":"look","arguments":{"z":1,"a":{"y":"\\"é\\""}}}},{"function":{"name":"now","arguments":{}}}]},
            {"role":"tool","content":"a cat","tool_name":"look","tool_call_id":"a1"},
            {"role":"tool","content":"noon","tool_name":"now"},
            {"role":"assistant","content":"A cat, at noon."},
            {"role":"user","content":"Thank you."}
            ],"stream":true,"tools":\(tools),"think":"high","format":"json","keep_alive":-1}
            """),
        Case(
            "options as they are", .ollama, .greeting("options", options), greeting("\"options\":\(options)")),
        Case("no member that was not set", .ollama, .greeting, greeting()),
        Case("a context", .ollama, .greeting(context: 8192), greeting(#""options":{"num_ctx":8192}"#)),
        Case(
            "a context of the client's own", .ollama, .greeting("options", #"{"num_ctx":2048}"#, context: 8192),
            greeting(#""options":{"num_ctx":2048}"#)),
        Case(
            "a context beside other options", .ollama, .greeting("options", #"{"seed":1}"#, context: 8192),
            greeting(#""options":{"seed":1,"num_ctx":8192}"#)),
        Case(
            "a beginning", .ollama, .greeting(beginning: "Once \"upon\""),
            greeting(after: #"{"role":"assistant","content":"Once \"upon\""}"#)),
    ]

    private static let openAI: [Case] = [
        Case(
            "a conversation", .openai, .asking(conversation, [("tools", tools), ("tool_choice", "\"auto\"")]),
            """
            {"model":"tiny","messages":[
            {"role":"system","content":"Be brief."},
            {"role":"user","content":[{"type":"text","text":"What is this? \\"é\u{1F600}\\"\\n"},
              {"type":"image_url","image_url":{"url":"data:image/png;base64,\(png)"}},
              {"type":"image_url","image_url":{"url":"data:image/jpeg;base64,\(jpeg)"}},
              {"type":"image_url","image_url":{"url":"data:image/webp;base64,\(webp)"}}]},
            {"role":"assistant","content":null,"tool_calls":[
              {"id":"a1","type":"function","function":{"name":"look","arguments":"{\\"z\\":1,\\"a\\":{\\"y\\":\\"\\\\\\"é\\\\\\"\\"}}"}},
              {"id":"call_1","type":"function","function":{"name":"now","arguments":"{}"}}]},
            {"role":"tool","content":"a cat","tool_call_id":"a1"},
            {"role":"tool","content":"noon","tool_call_id":"call_1"},
            {"role":"assistant","content":"A cat, at noon."},
            {"role":"user","content":"Thank you."}
            ],"stream":true,"stream_options":{"include_usage":true},"tools":\(tools),"tool_choice":"auto"}
            """),
        Case("no member that was not set", .openai, .greeting, greeting(counts)),
        Case(
            "options", .openai, .greeting("options", options),
            greeting(
                """
                \(counts),"temperature":0.2,"top_p":0.9,"top_k":40,"min_p":0.05,"seed":7,"stop":["\\n","END"],"max_tokens":100,\
                "repeat_penalty":1.1,"repetition_penalty":1.1,"presence_penalty":0.5,"frequency_penalty":0.25,"num_ctx":4096,"mirostat":2
                """)),
        Case("no limit", .openai, .greeting("options", #"{"num_predict":-1,"seed":null}"#), greeting(counts)),
        Case(
            "any JSON", .openai, .greeting("format", "\"json\""),
            greeting("\(counts),\"response_format\":{\"type\":\"json_object\"}")),
        Case(
            "JSON of a schema", .openai, .greeting("format", #"{"type":"object","properties":{"b":{},"a":{}}}"#),
            greeting(
                "\(counts),"
                    + #""response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object","properties":{"b":{},"a":{}}}}}"#
            )),
        Case(
            "thinking", .openai, .greeting("think", "true"),
            greeting(counts + #","chat_template_kwargs":{"enable_thinking":true}"#)),
        Case(
            "no thinking", .openai, .greeting("think", "false"),
            greeting(counts + #","chat_template_kwargs":{"enable_thinking":false}"#)),
        Case(
            "thinking hard", .openai, .greeting("think", "\"high\""), greeting(counts + #","reasoning_effort":"high""#)),
        Case(
            "its own words", .openai, .greeting("logit_bias", #"{"5":-100}"#),
            greeting(counts + #","logit_bias":{"5":-100}"#)),
        Case(
            "a beginning", .openai, .greeting(beginning: "Once \"upon\"", .prefill),
            greeting(counts, after: #"{"role":"assistant","content":"Once \"upon\""}"#)),
        Case(
            "a beginning, and the word for it", .openai, .greeting(beginning: "Once", .continueFinalMessage),
            greeting(
                counts + #","continue_final_message":true,"add_generation_prompt":false"#,
                after: #"{"role":"assistant","content":"Once"}"#)),
    ]

    private static let llamaStack: [Case] = [
        Case(
            "a conversation", .llamastack, .asking(conversation, [("tools", tools), ("tool_choice", "\"auto\"")]),
            """
            {"model_id":"tiny","messages":[
            {"role":"system","content":"Be brief."},
            {"role":"user","content":[
              {"type":"image","image":{"data":"\(png)"}},{"type":"image","image":{"data":"\(jpeg)"}},{"type":"image","image":{"data":"\(webp)"}},
              {"type":"text","text":"What is this? \\"é\u{1F600}\\"\\n"}]},
            {"role":"assistant","content":"","stop_reason":"end_of_message","tool_calls":[
              {"call_id":"a1","tool_name":"look","arguments":{"z":1,"a":{"y":"\\"é\\""}},"arguments_json":"{\\"z\\":1,\\"a\\":{\\"y\\":\\"\\\\\\"é\\\\\\"\\"}}"},
              {"call_id":"call_1","tool_name":"now","arguments":{},"arguments_json":"{}"}]},
            {"role":"tool","content":"a cat","call_id":"a1"},
            {"role":"tool","content":"noon","call_id":"call_1"},
            {"role":"assistant","content":"A cat, at noon.","stop_reason":"end_of_turn"},
            {"role":"user","content":"Thank you."}
            ],"stream":true,"tool_choice":"auto",
            "tools":[{"tool_name":"look","description":"Looks.","parameters":{"z":{"param_type":"integer","required":true}}}]}
            """),
        Case("no member that was not set", .llamastack, .greeting, llamaStack()),
        Case(
            "options", .llamastack,
            .greeting(
                "options", #"{"temperature":0.2,"top_p":0.9,"num_predict":100,"repeat_penalty":1.1,"stop":"END"}"#),
            llamaStack(
                #""sampling_params":{"strategy":{"type":"top_p","temperature":0.2,"top_p":0.9},"max_tokens":100,"repetition_penalty":1.1,"stop":["END"]}"#
            )),
        Case(
            "no chance", .llamastack, .greeting("options", #"{"temperature":0,"num_predict":-1}"#),
            llamaStack(#""sampling_params":{"strategy":{"type":"greedy"}}"#)),
        Case(
            "the likeliest few", .llamastack, .greeting("options", #"{"top_k":40}"#),
            llamaStack(#""sampling_params":{"strategy":{"type":"top_k","top_k":40}}"#)),
        Case(
            "JSON of a schema", .llamastack, .greeting("format", #"{"type":"object","properties":{"b":{},"a":{}}}"#),
            llamaStack(
                #""response_format":{"type":"json_schema","json_schema":{"type":"object","properties":{"b":{},"a":{}}}}"#
            )),
        Case("a context, which is its own", .llamastack, .greeting(context: 8192), llamaStack()),
    ]

    private static func llamaStack(_ members: String = "") -> String {
        greeting(members).replacing("\"model\"", with: "\"model_id\"")
    }

    private static let counts = #""stream_options":{"include_usage":true}"#

    private static let options =
        #"{"temperature":0.2,"top_p":0.9,"top_k":40,"min_p":0.05,"seed":7,"stop":["\n","END"],"num_predict":100,"repeat_penalty":1.1,"presence_penalty":0.5,"frequency_penalty":0.25,"num_ctx":4096,"mirostat":2}"#

    private static func greeting(_ members: String = "", after message: String = "") -> String {
        let more = message.isEmpty ? "" : ",\(message)"
        return "{\"model\":\"tiny\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}\(more)],"
            + "\"stream\":true\(members.isEmpty ? "" : ",\(members)")}"
    }
}

extension GenerationRequest {
    /// A conversation, with members of the request.
    static func asking(_ messages: [ModelMessage], _ members: [(String, String)]) -> GenerationRequest {
        var encoded = EncodedConversation()
        for message in messages {
            encoded.append(message)
        }
        return GenerationRequest(
            model: "tiny", messages: encoded,
            passThrough: members.map { RawMember(key: $0.0, value: Array($0.1.utf8)) })
    }

    /// A short conversation, with a member of the request.
    static func greeting(_ key: String, _ value: String, context: Int? = nil) -> GenerationRequest {
        var request = asking([ModelMessage(role: "user", content: "Hi")], [(key, value)])
        request.contextLength = context
        return request
    }

    /// A short conversation, for a model with this context length in tokens.
    static func greeting(context: Int) -> GenerationRequest {
        var request = greeting
        request.contextLength = context
        return request
    }

    /// A short conversation, with the beginning of an answer.
    static func greeting(
        beginning: String, _ continuation: UpstreamDescription.Continuation = .prefill
    ) -> GenerationRequest {
        var request = greeting
        request.beginning = Array(beginning.utf8)
        request.continuation = continuation
        return request
    }
}
