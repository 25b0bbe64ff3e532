/// The reason why an answer was not completed.
public struct ModelError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The closed set of reasons; the raw values go to clients.
    public enum Code: String, Sendable, CaseIterable {
        /// No server listens at the address, or the name has no address.
        case unavailable = "upstream_unavailable"
        /// The connection was not made in time.
        case connectTimeout = "upstream_connect_timeout"
        /// The connection was made, and no byte came in time.
        case firstByteTimeout = "upstream_first_byte_timeout"
        /// The answer paused for too long.
        case silenceTimeout = "upstream_silence_timeout"
        /// The answer took too long as a whole.
        case totalTimeout = "upstream_total_timeout"
        /// The answer exceeded its limit.
        case answerTooLarge = "answer_too_large"
        /// The model server does not have the model.
        case modelNotFound = "model_not_found"
        /// The model server rejected the request with a reason.
        case rejected = "upstream_rejected"
        /// The model server does not accept our key.
        case unauthorized = "upstream_auth"
        /// The conversation exceeds the context length of the model.
        case contextTooLong = "context_too_long"
        /// The request has a field without a counterpart in the dialect of the model server.
        case unsupported = "unsupported_field"
        /// The model server has too many requests.
        case busy = "upstream_busy"
        /// The model server failed, before or within the answer.
        case failed = "upstream_error"
        /// The response is not an answer of the dialect.
        case malformed = "upstream_malformed"
        /// The answer ended before its last line.
        case incomplete = "upstream_incomplete"
        /// The answer does not have the form that the request asks for, nor does its repair.
        case formViolated = "answer_violates_format"

        /// Whether the same request may succeed if it is sent again.
        public var isRetryable: Bool {
            switch self {
            case .answerTooLarge, .modelNotFound, .rejected, .contextTooLong, .unsupported: false
            case .unavailable, .connectTimeout, .firstByteTimeout, .silenceTimeout, .totalTimeout, .unauthorized, .busy,
                .failed, .malformed, .incomplete, .formViolated:
                true
            }
        }

        /// Whether another server, or the same one a little later, may succeed.
        public var isWorthAnotherServer: Bool {
            switch self {
            case .answerTooLarge, .rejected, .contextTooLong, .totalTimeout, .formViolated: false
            case .unavailable, .connectTimeout, .firstByteTimeout, .silenceTimeout, .modelNotFound, .unauthorized,
                .unsupported, .busy, .failed, .malformed, .incomplete:
                true
            }
        }
    }

    /// A possible cause of a failure, beyond its code.
    public enum Hint: Sendable, Equatable {
        /// The request may be at fault. The value has the status and the message of the error answer. The same answer from another
        /// server proves it.
        case request(String)
        /// The server may be restarting. `wasRead` says whether it may have read the request.
        case restart(wasRead: Bool)
        /// The conversation may be too long for the model.
        case context
        /// The model cannot think, or not as the request asks.
        case thinking
        /// The client asked for the failure by the model's name: `echo:error`. It ends the reply at once, and says nothing about the
        /// server.
        case onDemand
    }

    /// The reason, for machines.
    public let code: Code
    /// The reason, for the user: no addresses, no secrets; the model server's own message if it sent one.
    public let message: String
    /// Details for the operator, for the log only.
    public let detail: String
    /// The possible cause of the failure, beyond its code.
    public var hint: Hint?
    /// The delay that the model server asks for (`Retry-After`).
    public var retryAfter: Duration?
    /// The context length of the model in tokens, if a server that rejected a prompt has reported it.
    public var contextLength: Int?
    /// The tokens of the prompt, if a server that rejected it has reported them.
    public var promptTokens: Int?

    public init(_ code: Code, _ message: String, detail: String = "") {
        self.code = code
        self.message = message
        self.detail = detail
    }

    /// The code and the detail.
    public var description: String { detail.isEmpty ? "\(code.rawValue): \(message)" : "\(code.rawValue): \(detail)" }
}
