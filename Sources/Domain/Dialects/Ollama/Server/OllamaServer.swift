import ChatterdBasics
import ChatterdChat
import ChatterdHTTP

/// Ollama's own `/api/chat`.
struct OllamaServer: ServerDialect {
    var path: String { "/api/chat" }
    var translatesMessages: Bool { false }

    func basePath(of path: String) -> String {
        path.dropping([
            "/api/chat", "/api/generate", "/api/tags", "/api", "/v1/chat/completions", "/v1/models", "/v1",
        ])
    }

    func body(of request: GenerationRequest) throws(ModelError) -> OutgoingBody {
        guard !request.messages.hasImageAddress else {
            throw ModelError(
                .unsupported, "An Ollama takes no addresses of images: send the image itself, in Base64.",
                detail: "an image of the conversation is an address")
        }
        var body = ChatRequestBody(model: request.model)
        body.append(sharing: request.messages)
        if !request.beginning.isEmpty {
            body.append(role: "assistant".utf8.span, content: request.beginning.span)
        }
        return body.finish(
            stream: true,
            passThrough: request.passThrough.setting(contextLength: request.contextLength).withNumericKeepAlive)
    }

    func makeDecoder(
        model: String, limits: GenerationLimits, now: @escaping @Sendable () -> Int64
    ) -> any AnswerDecoder {
        OllamaDecoder(model: model, limits: limits, now: now)
    }

    func error(status: Status, fields: Fields, body: Span<UInt8>) -> ModelError {
        let report = UpstreamErrorBody(body)
        // Ollama sends 404 for this reason only.
        if status == .notFound, !report.isAboutPath, let message = report.clientMessage {
            return ModelError(.modelNotFound, message, detail: "status 404: \(report.message ?? message)")
        }
        return ModelError(status: status, report: report, unknownPath: "/api/chat: is it an Ollama server?")
    }
}

extension [RawMember] {
    /// The members with `num_ctx` among their options, unless it is there already.
    fileprivate func setting(contextLength: Int?) -> [RawMember] {
        guard let contextLength else { return self }
        guard let index = firstIndex(where: { $0.key == "options" }) else {
            return self + [RawMember(key: "options", value: [UInt8]("{\"num_ctx\":\(contextLength)}".utf8))]
        }
        // The server itself rejects options that are no object.
        guard var options = try? RawMember.members(of: self[index].value),
            !options.contains(where: { $0.key == "num_ctx" })
        else { return self }
        options.append(RawMember(key: "num_ctx", value: [UInt8](String(contextLength).utf8)))
        var object = ByteBuffer()
        object.appendJSON { writer in writer.object { $0.members(options) } }
        var members = self
        members[index] = RawMember(key: "options", value: object.array)
        return members
    }
}
