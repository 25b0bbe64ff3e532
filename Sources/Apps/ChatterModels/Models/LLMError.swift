/// The reason why a model gives no answer. `message` is a sentence for people.
#if hasAttribute(nonexhaustive)
    @nonexhaustive(warn)
#endif
public enum LLMError: Error, Sendable, Hashable {
    /// The model cannot answer at all; a fallback may.
    case unavailable(Availability.Reason)
    /// The key is missing, wrong, or does not permit this.
    case unauthorized(String)
    /// Too many requests: try again after the delay.
    case rateLimited(String, retryAfter: Duration?)
    /// The transcript is longer than the model's context.
    case contextTooLong(String)
    /// The model's server refused the request as it is.
    case rejected(String)
    /// The model, or a filter, declined to answer.
    case refused(String)
    /// The model's server failed.
    case failed(String)
    /// The connection was lost before the end.
    case connectionLost(String)
    /// The server does not follow its protocol.
    case malformed(String)
    /// The answer has no end: the limit of tokens, for example.
    case incomplete(GenerationEnd.Reason)
    /// The answer is not of the form that was asked for.
    case schemaViolation([SchemaViolation], StructuredContent)
    /// The answer should be JSON, and is not: where, and the text of the model.
    case notJSON(JSONFault, answer: String)
    /// A tool failed, and `toolFailure` is `fail`.
    case toolFailed(name: String, String)
    /// The model still calls tools after the permitted rounds.
    case tooManyToolRounds(Int)
    /// The session is answering another prompt.
    case busy
    /// The task was cancelled, or the reply was stopped.
    case cancelled

    /// A sentence for people.
    public var message: String {
        switch self {
        case .unavailable(.unreachable(let text)): text
        case .unavailable(let reason):
            "The model is not available: \(reason.text)\(reason.text.hasSuffix(".") ? "" : ".")"
        case .unauthorized(let text), .rateLimited(let text, _), .contextTooLong(let text), .rejected(let text),
            .refused(let text), .failed(let text), .connectionLost(let text), .malformed(let text):
            text
        case .incomplete(let reason):
            switch reason {
            case .length: "The answer is incomplete: it reached the limit of tokens."
            case .contentFilter: "The answer is incomplete: a filter withheld the rest."
            default: "The answer is incomplete: “\(reason.rawValue)”."
            }
        case .schemaViolation(let violations, _):
            "The answer does not have the requested form: \(violations.prefix(3).map(\.description).joined(separator: "; "))."
        case .notJSON(let fault, _): "The answer does not have the requested form. \(fault)"
        case .toolFailed(let name, let text): "The tool \(name) failed: \(text)"
        case .tooManyToolRounds(let limit): "The model still calls tools after \(limit) rounds."
        case .busy: "The conversation is answering another prompt."
        case .cancelled: "The request was cancelled."
        }
    }

    /// Whether the same request may succeed later.
    public var isRetryable: Bool {
        switch self {
        case .unavailable(.unreachable), .unavailable(.modelNotReady), .rateLimited, .failed, .connectionLost, .busy:
            true
        default: false
        }
    }
}

extension LLMError: CustomStringConvertible {
    public var description: String { message }
}

extension Availability.Reason {
    /// The reason in a few words, or the sentence of an error.
    public var text: String {
        switch self {
        case .apiKeyMissing: "the key is missing"
        case .unreachable(let text): text
        case .modelNotFound: "its server does not have it"
        case .modelNotReady: "it is being loaded"
        case .deviceNotSupported: "this device does not support it"
        case .notEnabled: "it is turned off"
        case .other(let text): text
        }
    }
}
