import ChatterdHTTP

extension ChatterError {
    /// The error of a response that is not a success.
    init(status: Int, retryAfter: Int?, body: [UInt8]) {
        let body = try? JSON.decode(ErrorBody.self, from: body)
        guard body?.code != nil || Self.proxyStatuses.contains(status) else {
            let text = body.map { " Its text: \($0.error)" } ?? ""
            self = .malformed(
                "The server at this address is probably no chatterd: it answered with the status \(status).\(text)")
            return
        }
        let code = body?.code ?? "http_\(status)"
        self.init(
            ServerError(
                code: code, message: body?.error ?? "The server answered with the status \(status).",
                isRetryable: Self.isRetryable(code, status),
                retryAfter: retryAfter.flatMap { Duration(retryAfter: $0) }, reply: body?.reply),
            status: status)
    }

    /// What a proxy before a chatterd answers by itself.
    private static let proxyStatuses = [401, 403, 407, 408, 413, 414, 429, 431, 500, 502, 503, 504]

    /// The error of an `error` event.
    init(event: ErrorBody) {
        let code = event.code ?? "internal"
        self.init(
            ServerError(
                code: code, message: event.error, isRetryable: event.retryable ?? Self.isRetryable(code, 500)),
            status: 500)
    }

    private init(_ error: ServerError, status: Int) {
        switch error.code {
        case "unauthorized", "forbidden", "forbidden_origin", "misdirected_request": self = .unauthorized(error)
        case "rate_limited", "overloaded", "conversation_busy", "upstream_busy": self = .busy(error)
        case "model_not_found", "conversation_not_found", "reply_not_found", "upstream_not_found", "key_not_found":
            self = .notFound(error)
        case "invalid_request", "history_too_large", "attachments_full", "text_full", "context_too_long",
            "unsupported_field", "upstream_rejected", "idempotency_key_reused", "conversation_exists",
            "conversation_replaced", "response_restarted", "reply_not_complete", "call_not_asked", "upstream_exists",
            "prompt_refused":
            self = .rejected(error)
        case "interrupted", "text_lost", "answer_too_large", "answer_violates_format", "answer_refused":
            self = .modelFailed(error)
        case _ where error.code.hasPrefix("upstream_"): self = .modelFailed(error)
        case "store_unavailable", "shutting_down", "reply_not_stored", "internal", "internal_error",
            "issuer_unavailable", "hook_failed":
            self = .serverFailed(error)
        default: self.init(error, unknownWithStatus: status)
        }
    }

    /// A code that this client does not know, or a response of a proxy.
    private init(_ error: ServerError, unknownWithStatus status: Int) {
        switch status {
        case 401, 403, 407: self = .unauthorized(error)
        case 404: self = .notFound(error)
        case 429: self = .busy(error)
        case 500...: self = .serverFailed(error)
        default: self = .rejected(error)
        }
    }

    private static func isRetryable(_ code: String, _ status: Int) -> Bool {
        switch code {
        case "answer_too_large", "answer_refused", "internal_error": false
        default: status == 408 || status == 429 || status >= 500 || code == "conversation_busy"
        }
    }

    /// Whether a client should try again by itself, because the server cannot be reached or is away for a moment.
    ///
    /// A repeated prompt has the same `Idempotency-Key`, so that it is stored once.
    var isPassing: Bool {
        switch self {
        case .unreachable, .connectionLost: true
        case .serverFailed(let error):
            ["store_unavailable", "shutting_down", "issuer_unavailable", "http_502", "http_503", "http_504"]
                .contains(error.code)
        default: false
        }
    }
}

/// The members of an error, in a response or an event.
struct ErrorBody: Decodable {
    let error: String
    let code: String?
    let retryable: Bool?
    let reply: ReplyID?
}
