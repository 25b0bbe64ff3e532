/// The reason why a request has no result. Each case is one thing to show to a user; `message` is a sentence for it.
#if hasAttribute(nonexhaustive)
    @nonexhaustive(warn)
#endif
public enum ChatterError: Error, Sendable, Hashable {
    /// The address is not a URL of a server.
    case invalidURL(String)
    /// No server answers at the address: wrong address, no network, or the server is down.
    case unreachable(String)
    /// The certificate of the server is not trusted.
    case untrusted(String)
    /// The connection was lost and could not be restored in time. The server may continue the answer.
    case connectionLost(String)
    /// The server does not follow the protocol: it is probably no chatterd.
    case malformed(String)
    /// The credential is missing, expired or revoked, or does not permit this. Sign in again, or ask for a key.
    case unauthorized(ServerError)
    /// A limit of the credential is reached, or the server is busy. Try again after `retryAfter`.
    case busy(ServerError)
    /// There is no such model, conversation, reply, key or model server.
    case notFound(ServerError)
    /// The request cannot succeed as it is: the text says why.
    case rejected(ServerError)
    /// The model did not complete its answer. The text so far is kept. Offer another attempt if it is `isRetryable`.
    case modelFailed(ServerError)
    /// The server failed, or lost its database for too long.
    case serverFailed(ServerError)
    /// The task was cancelled.
    case cancelled

    /// A sentence for people.
    public var message: String {
        switch self {
        case .invalidURL(let text), .unreachable(let text), .untrusted(let text), .connectionLost(let text),
            .malformed(let text):
            text
        case .unauthorized(let error), .busy(let error), .notFound(let error), .rejected(let error),
            .modelFailed(let error), .serverFailed(let error):
            error.message
        case .cancelled: "The request was cancelled."
        }
    }

    /// The code of the server, from the table in docs/api.md; a word of this client if the server did not answer.
    public var code: String {
        switch self {
        case .invalidURL: "invalid_url"
        case .unreachable: "unreachable"
        case .untrusted: "untrusted"
        case .connectionLost: "connection_lost"
        case .malformed: "malformed"
        case .cancelled: "cancelled"
        case .unauthorized(let error), .busy(let error), .notFound(let error), .rejected(let error),
            .modelFailed(let error), .serverFailed(let error):
            error.code
        }
    }

    /// Whether the same request may succeed later.
    public var isRetryable: Bool {
        switch self {
        case .unreachable, .connectionLost: true
        case .invalidURL, .untrusted, .malformed, .cancelled: false
        case .unauthorized(let error), .busy(let error), .notFound(let error), .rejected(let error),
            .modelFailed(let error), .serverFailed(let error):
            error.isRetryable
        }
    }
}

extension ChatterError: CustomStringConvertible {
    /// The message.
    public var description: String { message }
}
