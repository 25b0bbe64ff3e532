import ChatterdHTTPClient
import ChatterdLanguageModels

extension ModelError {
    /// What came is not an answer.
    static func malformed(_ reason: String, detail: String = "") -> ModelError {
        ModelError(
            .malformed, "The model server's answer cannot be read: \(reason).", detail: detail.isEmpty ? reason : detail
        )
    }

    /// The answer ended in order, but not with its end.
    static func incomplete(hasBegun: Bool) -> ModelError {
        guard !hasBegun else {
            return ModelError(
                .incomplete, "The model server ended its answer before it was complete.",
                detail: "the body ended before the answer did")
        }
        var error = ModelError(
            .incomplete, "The model server's answer was empty.", detail: "the body ended before the answer did")
        // llama-cpp-python gives this answer to a prompt that exceeds its context.
        error.hint = .context
        return error
    }

    /// The answer is over its limit.
    static func answerTooLarge(_ limits: GenerationLimits) -> ModelError {
        ModelError(
            .answerTooLarge, "The answer grew beyond \(limits.answer) bytes, and was ended.",
            detail: "more than \(limits.answer) bytes")
    }

    /// Makes the error of an exchange that failed.
    public init(_ error: HTTPClientError) {
        switch error.code {
        case .connectTimedOut:
            self.init(
                .connectTimeout, "The model server cannot be reached: no connection in time.", detail: error.message)
        case .cut:
            self.init(
                .incomplete, "The connection to the model server broke in the middle of its answer.",
                detail: error.message)
        case .malformed:
            self.init(.malformed, "The model server's answer cannot be read: it is not HTTP.", detail: error.message)
        case .reset:
            self.init(.unavailable, "The model server closed the connection before it answered.", detail: error.message)
            hint = .restart(wasRead: true)
        case .tls:
            self.init(
                .unavailable,
                "The model server cannot be reached safely: its certificate, or a file of authorities, must be corrected.",
                detail: error.message)
        case .forbiddenAddress:
            self.init(
                .unavailable,
                "The model server is at a link-local address or where clouds keep their metadata: it is asked only if its "
                    + "description says allow_link_local.",
                detail: error.message)
        case .refused, .unresolvable:
            self.init(.unavailable, "The model server cannot be reached.", detail: error.message)
            hint = .restart(wasRead: false)
        case .invalidURL, .other:
            self.init(.unavailable, "The model server cannot be reached.", detail: error.message)
        }
    }
}
