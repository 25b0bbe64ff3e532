import ChatterModels

/// The errors of FoundationModels that an executor reports, in types that exist on all systems.
public enum ProviderError: Error, Sendable, Hashable {
    case contextSizeExceeded(String)
    case rateLimited(String, retryAfter: Duration?)
    case refusal(String)
    case guardrailViolation(String)
    /// The task was cancelled.
    case cancelled
    /// An error that FoundationModels has no case for; it is thrown as it is.
    case other(LLMError)

    public init(_ error: LLMError) {
        switch error {
        case .contextTooLong(let text): self = .contextSizeExceeded(text)
        case .rateLimited(let text, let delay): self = .rateLimited(text, retryAfter: delay)
        case .refused(let text): self = .refusal(text)
        case .incomplete(.contentFilter): self = .guardrailViolation(error.message)
        case .cancelled: self = .cancelled
        case .unavailable, .unauthorized, .rejected, .failed, .connectionLost, .malformed, .incomplete,
            .schemaViolation, .notJSON, .toolFailed, .tooManyToolRounds, .busy:
            self = .other(error)
        }
    }
}

extension LLMError {
    /// The error of this library for one of FoundationModels.
    public init(_ error: ProviderError) {
        switch error {
        case .contextSizeExceeded(let text): self = .contextTooLong(text)
        case .rateLimited(let text, let delay): self = .rateLimited(text, retryAfter: delay)
        case .refusal(let text), .guardrailViolation(let text): self = .refused(text)
        case .cancelled: self = .cancelled
        case .other(let error): self = error
        }
    }
}
