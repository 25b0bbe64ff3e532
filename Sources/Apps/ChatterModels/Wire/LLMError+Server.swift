import ChatterClient

extension LLMError {
    /// The error of a transport.
    init(_ error: ChatterError) {
        switch error {
        case .unreachable(let text): self = .unavailable(.unreachable(text))
        case .untrusted(let text): self = .unavailable(.other(text))
        case .invalidURL(let text): self = .rejected(text)
        case .connectionLost(let text): self = .connectionLost(text)
        case .malformed(let text): self = .malformed(text)
        case .unauthorized(let error): self = .unauthorized(error.message)
        case .busy(let error): self = .rateLimited(error.message, retryAfter: error.retryAfter)
        case .notFound(let error):
            self = error.code == "model_not_found" ? .unavailable(.modelNotFound) : .rejected(error.message)
        case .rejected(let error):
            let isTooLong = error.code == "context_too_long" || error.code == "history_too_large"
            self = isTooLong ? .contextTooLong(error.message) : .rejected(error.message)
        case .modelFailed(let error), .serverFailed(let error): self = .failed(error.message)
        case .cancelled: self = .cancelled
        }
    }

    /// The error of a response that is not a success.
    init(status: Int, retryAfter: Int?, body: [UInt8]) {
        let json = try? StructuredContent(json: body)
        let text = json.flatMap(Self.text(of:)) ?? "The model's server answered with the status \(status)."
        switch status {
        case 401, 403: self = .unauthorized(text)
        case 404 where json == nil:
            self = .malformed("The server answered with the status 404: it probably does not have this API.")
        case 404: self = .unavailable(.modelNotFound)
        case 429: self = .rateLimited(text, retryAfter: retryAfter.flatMap { Duration(retryAfter: $0) })
        case 503 where text.lowercased().contains("loading"): self = .unavailable(.modelNotReady)
        case 500...: self = .failed(text)
        default: self = Self.isAboutLength(text) ? .contextTooLong(text) : .rejected(text)
        }
    }

    /// The error in a stream: the value of its member `error`, or an object that is one.
    init(inStream error: StructuredContent) {
        let text = Self.text(of: ["error": error]) ?? "The model's server reported an error."
        self = Self.isAboutLength(text) ? .contextTooLong(text) : .failed(text)
    }

    /// The text of an error, in any of the forms that model servers use.
    private static func text(of body: StructuredContent) -> String? {
        for content in [
            body["error"], body["error"]?["message"], body["error"]?["detail"], body["message"], body["detail"],
        ] {
            if case .string(let text)? = content, !text.isEmpty { return text }
        }
        return nil
    }

    private static func isAboutLength(_ text: String) -> Bool {
        let text = text.lowercased()
        return text.contains("context") && ["length", "exceed", "too long", "maximum"].contains { text.contains($0) }
    }
}
