import ChatterClient
import ChatterdHTTP

/// Open Responses: `/v1/responses` with a transcript in each request, so that the server needs to keep nothing.
struct OpenResponsesFormat: WireFormat {
    let listPath = "/v1/models"

    func httpRequest(for request: GenerationRequest, model: String) -> ClientRequest {
        var body: [StructuredContent.Member] = []
        body.add("model", .string(model))
        body.add("input", .array(request.transcript.flatMap(Self.items)))
        body.add("stream", true)
        body.add("store", false)
        if !request.tools.isEmpty {
            body.add(
                "tools",
                .array(
                    request.tools.map {
                        [
                            "type": "function", "name": .string($0.name), "description": .string($0.description),
                            "parameters": $0.parameters.jsonSchema(), "strict": false,
                        ]
                    }))
        }
        if let schema = request.schema {
            body.add(
                "text",
                [
                    "format": [
                        "type": "json_schema", "name": .string(schema.wireName),
                        "schema": schema.jsonSchema(.strict), "strict": true,
                    ]
                ])
        }
        body.add("temperature", request.options.wireTemperature)
        body.add("top_p", request.options.wireTopP)
        body.add("top_k", request.options.wireTopK)
        body.add("seed", request.options.wireSeed)
        body.add("max_output_tokens", request.options.maximumTokens.map { .integer($0) })
        body.merge(request.options.backendOptions)
        return ClientRequest(.post, "/v1/responses", json: StructuredContent.object(body).wireBytes)
    }

    private static func items(_ message: Message) -> [StructuredContent] {
        switch message {
        case .system: [["type": "message", "role": "system", "content": .string(message.text)]]
        case .user(let user):
            [["type": "message", "role": "user", "content": .array(user.chunks.map(part))]]
        case .ai(let ai):
            (ai.text.isEmpty
                ? []
                : [
                    [
                        "type": "message", "role": "assistant",
                        "content": [["type": "output_text", "text": .string(ai.text), "annotations": []]],
                    ]
                ])
                + ai.toolCalls.map {
                    [
                        "type": "function_call", "call_id": .string($0.id), "name": .string($0.toolName),
                        "arguments": .string($0.arguments.json),
                    ]
                }
        case .toolOutput(let output):
            [["type": "function_call_output", "call_id": .string(output.id), "output": .string(output.text)]]
        }
    }

    private static func part(_ chunk: ContentChunk) -> StructuredContent {
        if case .image(let image) = chunk {
            return ["type": "input_image", "image_url": .string(image.dataURL)]
        }
        return ["type": "input_text", "text": .string(chunk.text)]
    }

    func makeDecoder(callPrefix: String) -> OpenResponsesAnswer { OpenResponsesAnswer(callPrefix: callPrefix) }

    /// Some servers have one model under any name, so the list decides nothing.
    func lists(_ model: String, in list: StructuredContent) -> Bool { true }
}
