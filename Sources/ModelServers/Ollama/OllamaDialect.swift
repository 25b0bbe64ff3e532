import ChatterdBasics
import ChatterdHTTP
import ChatterdLanguageModels

/// Ollama's own `/api/chat`.
struct OllamaDialect: Dialect {
    var path: String { "/api/chat" }

    func body(of request: GenerationRequest) throws(ModelError) -> ByteBuffer {
        var body = OllamaChatRequest(
            model: request.model, capacity: request.messages.json.count + request.beginning.count)
        body.append(encodedMessages: request.messages.json.bytes)
        if !request.beginning.isEmpty {
            body.append(role: "assistant".utf8.span, content: request.beginning.span, extras: "".utf8.span)
        }
        return body.finish(
            stream: true, passThrough: request.passThrough.setting(contextLength: request.contextLength))
    }

    func makeDecoder(
        model: String, limits: GenerationLimits, now: @escaping @Sendable () -> Int64
    ) -> any AnswerDecoder {
        OllamaDecoder(model: model, limits: limits, now: now)
    }

    func error(status: Status, fields: Fields, body: Span<UInt8>) -> ModelError {
        let said = UpstreamErrorBody(body)
        // Of the statuses of a server that is Ollama, 404 says only this.
        if status == .notFound, !said.isAboutPath, let words = said.words {
            return ModelError(.modelNotFound, words, detail: "status 404: \(said.message ?? words)")
        }
        return ModelError(status: status, said: said, unknownPath: "/api/chat: is it an Ollama server?")
    }
}

extension [RawMember] {
    /// The members with `num_ctx` among their options, unless it is there already.
    fileprivate func setting(contextLength: Int?) -> [RawMember] {
        guard let contextLength else { return self }
        guard let place = firstIndex(where: { $0.key == "options" }) else {
            return self + [RawMember(key: "options", value: [UInt8]("{\"num_ctx\":\(contextLength)}".utf8))]
        }
        // Options that are no object are refused by the server, in its own words.
        guard var options = try? RawMember.members(of: self[place].value),
            !options.contains(where: { $0.key == "num_ctx" })
        else { return self }
        options.append(RawMember(key: "num_ctx", value: [UInt8](String(contextLength).utf8)))
        var object = ByteBuffer()
        object.append(UInt8(ascii: "{"))
        object.append(options)
        object.append(UInt8(ascii: "}"))
        var members = self
        members[place] = RawMember(key: "options", value: object.array)
        return members
    }
}
