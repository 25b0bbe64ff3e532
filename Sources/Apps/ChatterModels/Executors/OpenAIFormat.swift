import ChatterClient
import ChatterdHTTP

/// OpenAI's chat completions, as vLLM, llama.cpp, Llama Stack and many others offer them.
struct OpenAIFormat: WireFormat {
    let listPath = "/v1/models"
    /// The name of the limit of tokens: OpenAI has replaced `max_tokens`, which older servers want.
    let tokenLimitName: String

    func httpRequest(for request: GenerationRequest, model: String) -> ClientRequest {
        var body: [StructuredContent.Member] = []
        body.add("model", .string(model))
        body.add("messages", .array(request.transcript.map(Self.message)))
        body.add("stream", true)
        body.add("stream_options", ["include_usage": true])
        body.add("tools", request.tools.isEmpty ? nil : .array(request.tools.map(\.wireFunction)))
        if let schema = request.schema {
            body.add(
                "response_format",
                [
                    "type": "json_schema",
                    "json_schema": [
                        "name": .string(schema.wireName), "schema": schema.jsonSchema(.strict), "strict": true,
                    ],
                ])
        }
        body.add("temperature", request.options.wireTemperature)
        body.add("top_p", request.options.wireTopP)
        body.add("top_k", request.options.wireTopK)
        body.add("seed", request.options.wireSeed)
        body.add(tokenLimitName, request.options.maximumTokens.map { .integer($0) })
        body.merge(request.options.backendOptions)
        return ClientRequest(.post, "/v1/chat/completions", json: StructuredContent.object(body).wireBytes)
    }

    private static func message(_ message: Message) -> StructuredContent {
        switch message {
        case .system: return ["role": "system", "content": .string(message.text)]
        case .user(let user):
            guard !user.chunks.images.isEmpty else { return ["role": "user", "content": .string(message.text)] }
            return ["role": "user", "content": .array(user.chunks.map(part))]
        case .ai(let ai):
            var members: [StructuredContent.Member] = []
            members.add("role", "assistant")
            members.add("content", ai.text.isEmpty && !ai.toolCalls.isEmpty ? .null : .string(ai.text))
            if !ai.toolCalls.isEmpty {
                members.add(
                    "tool_calls",
                    .array(
                        ai.toolCalls.map {
                            [
                                "id": .string($0.id), "type": "function",
                                "function": ["name": .string($0.toolName), "arguments": .string($0.arguments.json)],
                            ]
                        }))
            }
            return .object(members)
        case .toolOutput(let output):
            return ["role": "tool", "tool_call_id": .string(output.id), "content": .string(output.text)]
        }
    }

    private static func part(_ chunk: ContentChunk) -> StructuredContent {
        if case .image(let image) = chunk {
            return ["type": "image_url", "image_url": ["url": .string(image.dataURL)]]
        }
        return ["type": "text", "text": .string(chunk.text)]
    }

    func makeDecoder(callPrefix: String) -> OpenAIAnswer { OpenAIAnswer(callPrefix: callPrefix) }

    /// Some servers have one model under any name, so the list decides nothing.
    func lists(_ model: String, in list: StructuredContent) -> Bool { true }
}

extension ImageContent {
    /// The image as a URL (RFC 2397).
    var dataURL: String { "data:\(mediaType);base64,\(base64)" }
}
