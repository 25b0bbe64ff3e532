import ChatterdChat
import ChatterdHTTPClient

extension ModelError {
    /// The bytes are not an answer of the dialect; `reason` completes "The model server's answer cannot be read:".
    static func malformed(_ reason: String, detail: String = "") -> ModelError {
        ModelError(
            .malformed, "The model server's answer cannot be read: \(reason).", detail: detail.isEmpty ? reason : detail
        )
    }

    /// The body ended before the answer did; `hasBegun` says whether it had a part of the answer.
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

    /// The answer exceeds the limit of its size.
    static func answerTooLarge(_ limits: GenerationLimits) -> ModelError {
        ModelError(
            .answerTooLarge, "The answer grew beyond \(limits.answer) bytes, and was ended.",
            detail: "more than \(limits.answer) bytes")
    }

    /// Creates the error of an exchange that failed.
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
