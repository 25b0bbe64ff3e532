import ChatterClient
import ChatterdHTTP

/// Ollama's `/api/chat`: lines of JSON.
struct OllamaFormat: WireFormat {
    let listPath = "/api/tags"

    func httpRequest(for request: GenerationRequest, model: String) -> ClientRequest {
        var body: [StructuredContent.Member] = []
        body.add("model", .string(model))
        body.add("messages", .array(request.transcript.map(Self.message)))
        body.add("stream", true)
        body.add("format", request.schema?.jsonSchema())
        body.add("tools", request.tools.isEmpty ? nil : .array(request.tools.map(\.wireFunction)))
        var options: [StructuredContent.Member] = []
        options.add("temperature", request.options.wireTemperature)
        options.add("top_p", request.options.wireTopP)
        options.add("top_k", request.options.wireTopK)
        options.add("seed", request.options.wireSeed)
        options.add("num_predict", request.options.maximumTokens.map { .integer($0) })
        body.add("options", options.isEmpty ? nil : .object(options))
        body.merge(request.options.backendOptions)
        return ClientRequest(.post, "/api/chat", json: StructuredContent.object(body).wireBytes)
    }

    private static func message(_ message: Message) -> StructuredContent {
        var members: [StructuredContent.Member] = []
        switch message {
        case .system: members.add("role", "system")
        case .user: members.add("role", "user")
        case .ai: members.add("role", "assistant")
        case .toolOutput: members.add("role", "tool")
        }
        members.add("content", .string(message.text))
        let images = message.chunks.images
        members.add("images", images.isEmpty ? nil : .array(images.map { .string($0.base64) }))
        if case .ai(let message) = message, !message.toolCalls.isEmpty {
            members.add(
                "tool_calls",
                .array(
                    message.toolCalls.map {
                        ["id": .string($0.id), "function": ["name": .string($0.toolName), "arguments": $0.arguments]]
                    }))
        }
        if case .toolOutput(let output) = message {
            members.add("tool_name", .string(output.toolName))
            members.add("tool_call_id", .string(output.id))
        }
        return .object(members)
    }

    func makeDecoder(callPrefix: String) -> OllamaAnswer { OllamaAnswer(callPrefix: callPrefix) }

    func lists(_ model: String, in list: StructuredContent) -> Bool {
        (list["models"]?.wireElements ?? []).contains {
            let name = $0["name"]?.wireText
            return name == model || name == model + ":latest"
        }
    }
}
