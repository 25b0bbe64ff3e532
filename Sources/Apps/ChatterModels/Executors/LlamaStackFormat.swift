import ChatterClient
import ChatterdHTTP

/// Llama Stack's own inference, `/v1/inference/chat-completion`, of servers before 0.3.
struct LlamaStackFormat: WireFormat {
    let listPath = "/v1/models"

    func httpRequest(for request: GenerationRequest, model: String) -> ClientRequest {
        var body: [StructuredContent.Member] = []
        body.add("model_id", .string(model))
        body.add("messages", .array(request.transcript.map(Self.message)))
        body.add("stream", true)
        body.add("sampling_params", Self.sampling(request.options))
        body.add("tools", request.tools.isEmpty ? nil : .array(request.tools.map(Self.tool)))
        if let schema = request.schema {
            body.add("response_format", ["type": "json_schema", "json_schema": schema.jsonSchema()])
        }
        body.add("seed", request.options.wireSeed)
        body.merge(request.options.backendOptions)
        return ClientRequest(
            .post, "/v1/inference/chat-completion", json: StructuredContent.object(body).wireBytes)
    }

    /// The sampling; `nil` if the server decides all of it. There is one strategy only: `top_k` has no temperature. `top_p` wants one
    /// above 0.
    private static func sampling(_ options: LLMReplyOptions) -> StructuredContent? {
        var members: [StructuredContent.Member] = []
        if options.samplingMode == .greedy || options.temperature == 0 {
            members.add("strategy", ["type": "greedy"])
        } else if let topK = options.wireTopK {
            members.add("strategy", ["type": "top_k", "top_k": topK])
        } else if options.wireTopP != nil || options.temperature != nil {
            var strategy: [StructuredContent.Member] = []
            strategy.add("type", "top_p")
            strategy.add("temperature", options.wireTemperature ?? 1.0)
            strategy.add("top_p", options.wireTopP)
            members.add("strategy", .object(strategy))
        }
        members.add("max_tokens", options.maximumTokens.map { .integer($0) })
        return members.isEmpty ? nil : .object(members)
    }

    private static func message(_ message: Message) -> StructuredContent {
        switch message {
        case .system: return ["role": "system", "content": .string(message.text)]
        case .user(let user):
            guard !user.chunks.images.isEmpty else { return ["role": "user", "content": .string(message.text)] }
            return ["role": "user", "content": .array(user.chunks.map(part))]
        case .ai(let ai):
            return [
                "role": "assistant", "content": .string(ai.text),
                "stop_reason": ai.toolCalls.isEmpty ? "end_of_turn" : "end_of_message",
                "tool_calls": .array(
                    ai.toolCalls.map {
                        [
                            "call_id": .string($0.id), "tool_name": .string($0.toolName), "arguments": $0.arguments,
                            "arguments_json": .string($0.arguments.json),
                        ]
                    }),
            ]
        case .toolOutput(let output):
            return ["role": "tool", "call_id": .string(output.id), "content": .string(output.text)]
        }
    }

    private static func part(_ chunk: ContentChunk) -> StructuredContent {
        if case .image(let image) = chunk { return ["type": "image", "image": ["data": .string(image.base64)]] }
        return ["type": "text", "text": .string(chunk.text)]
    }

    /// A tool with the flat list of parameters that the server knows.
    private static func tool(_ tool: ToolDescription) -> StructuredContent {
        var parameters: [StructuredContent.Member] = []
        if case .object(_, _, let properties) = tool.parameters {
            for property in properties {
                parameters.add(
                    property.name,
                    [
                        "param_type": property.schema.jsonSchema()["type"] ?? "string",
                        "description": .string(property.description ?? ""), "required": .bool(!property.isOptional),
                    ])
            }
        }
        return [
            "tool_name": .string(tool.name), "description": .string(tool.description),
            "parameters": .object(parameters),
        ]
    }

    func makeDecoder(callPrefix: String) -> LlamaStackAnswer { LlamaStackAnswer(callPrefix: callPrefix) }

    func lists(_ model: String, in list: StructuredContent) -> Bool {
        (list["data"]?.wireElements ?? []).contains { $0["identifier"]?.wireText == model }
    }
}
