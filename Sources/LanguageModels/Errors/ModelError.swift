/// Why an answer did not come to its end.
public struct ModelError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The closed set of reasons; the raw values go to clients.
    public enum Code: String, Sendable, CaseIterable {
        /// Nobody listens there, or the name has no address.
        case unavailable = "upstream_unavailable"
        /// The connection was not made in time.
        case connectTimeout = "upstream_connect_timeout"
        /// The connection was made, and nothing came in time.
        case firstByteTimeout = "upstream_first_byte_timeout"
        /// The answer stopped in the middle for too long.
        case silenceTimeout = "upstream_silence_timeout"
        /// The answer took too long as a whole.
        case totalTimeout = "upstream_total_timeout"
        /// The answer grew beyond its limit.
        case answerTooLarge = "answer_too_large"
        /// The model server does not have the model.
        case modelNotFound = "model_not_found"
        /// The model server refused the request, and said why.
        case rejected = "upstream_rejected"
        /// The model server does not accept our key.
        case unauthorized = "upstream_auth"
        /// The conversation is longer than what the model takes.
        case contextTooLong = "context_too_long"
        /// The request has a field that this model server cannot be told.
        case unsupported = "unsupported_field"
        /// The model server has too much to do.
        case busy = "upstream_busy"
        /// The model server failed, before or in the middle of the answer.
        case failed = "upstream_error"
        /// What came is not an answer.
        case malformed = "upstream_malformed"
        /// The answer stopped without its end.
        case incomplete = "upstream_incomplete"

        /// Whether the same request may succeed if it is sent again.
        public var isRetryable: Bool {
            switch self {
            case .answerTooLarge, .modelNotFound, .rejected, .contextTooLong, .unsupported: false
            case .unavailable, .connectTimeout, .firstByteTimeout, .silenceTimeout, .totalTimeout, .unauthorized, .busy,
                .failed, .malformed, .incomplete:
                true
            }
        }

        /// Whether another server, or the same one a little later, may do better.
        public var isWorthAnotherServer: Bool {
            switch self {
            case .answerTooLarge, .rejected, .contextTooLong, .totalTimeout: false
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
    }

    /// The reason, for machines.
    public let code: Code
    /// The reason, for the person who asked: no addresses, no secrets; the model server's own words where it gave some.
    public let message: String
    /// What the operator should know beyond that; goes to the log only.
    public let detail: String
    /// The possible cause of the failure, beyond its code.
    public var hint: Hint?
    /// How long the model server asks to be left alone (`Retry-After`).
    public var retryAfter: Duration?
    /// The tokens that the model takes, where a server that refused a prompt has said so.
    public var contextLength: Int?
    /// The tokens of the prompt, where a server that refused it has said so.
    public var promptTokens: Int?

    /// Makes an error.
    public init(_ code: Code, _ message: String, detail: String = "") {
        self.code = code
        self.message = message
        self.detail = detail
    }

    /// The code and the detail.
    public var description: String { detail.isEmpty ? "\(code.rawValue): \(message)" : "\(code.rawValue): \(detail)" }
}
