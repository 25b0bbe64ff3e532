/// The reason why a credential does not permit a request.
public struct AccessError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The closed set of reasons; the raw values go to clients, and are listed in docs/api.md.
    public enum Code: String, Sendable, CaseIterable {
        /// The credential is missing, unknown, expired or revoked.
        case unauthorized
        /// The credential does not permit the request.
        case forbidden
        /// A limit of the credential is reached.
        case rateLimited = "rate_limited"
        /// The keys of the issuer of a token cannot be had, so that the token cannot be checked.
        case issuerUnavailable = "issuer_unavailable"
    }

    /// The reason for machines.
    public let code: Code
    /// The reason for the user: a sentence without secrets.
    public let message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The code and the sentence.
    public var description: String { "\(code.rawValue): \(message)" }
}
