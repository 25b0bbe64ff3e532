import HTTP

/// An error as a client sees it: a status, a code for machines, a sentence for people.
public struct Refusal: Error, Sendable, Hashable {
    /// The status.
    public let status: Status
    /// The code, of a closed set, in lower case with underscores.
    public let code: String
    /// The sentence; without secrets.
    public let message: String
    /// Seconds after which another try may succeed, for the Retry-After field; nil when waiting does not help.
    public let retryAfter: Int?

    /// Makes a refusal.
    public init(_ status: Status, code: String, message: String, retryAfter: Int? = nil) {
        self.status = status
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
    }
}

extension Refusal {
    /// What is wrong with a message.
    init(_ error: HTTPError) {
        self.init(error.status, code: Refusal.snakeCase(error.code.rawValue), message: error.message)
    }

    static let notFound = Refusal(.notFound, code: "not_found", message: "There is nothing at this path.")
    static let methodNotAllowed = Refusal(
        .methodNotAllowed, code: "method_not_allowed", message: "This method is not offered here: see the Allow field.")
    static let headTimedOut = Refusal(
        .requestTimeout, code: "head_timeout", message: "The head of the request took too long to arrive.")
    static let bodyTimedOut = Refusal(
        .requestTimeout, code: "body_timeout", message: "The body of the request took too long to arrive.")
    static let truncated = Refusal(HTTPError(.truncated))
    static let noRoom = Refusal(
        .serviceUnavailable, code: "overloaded", message: "Too many requests are being received: try again later.",
        retryAfter: 1)
    static let noResponse = Refusal(
        .internalServerError, code: "internal_error", message: "Internal error.")

    private static func snakeCase(_ camelCase: String) -> String {
        var text = ""
        for character in camelCase {
            if character.isUppercase {
                text += "_"
            }
            text += character.lowercased()
        }
        return text
    }
}
