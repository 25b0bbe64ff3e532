import ChatterdBasics
import ChatterdHTTP

/// An error response: a status, a code for machines, a sentence for people.
public struct Refusal: Error, Sendable, Hashable {
    public let status: Status
    /// The code, of a closed set, in lower case with underscores.
    public let code: String
    /// The sentence; without secrets.
    public let message: String
    /// Seconds after which a retry may succeed, for the Retry-After field; `nil` if waiting does not help.
    public let retryAfter: Int?
    /// Further fields of the response.
    public let fields: Fields

    /// Whether the same request may succeed if it is sent again.
    public var isRetryable: Bool { [.serviceUnavailable, .tooManyRequests, .requestTimeout].contains(status) }

    public init(_ status: Status, code: String, message: String, retryAfter: Int? = nil, fields: Fields = [:]) {
        self.status = status
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
        self.fields = fields
    }
}

extension Refusal {
    /// Creates the refusal of a malformed message.
    init(_ error: HTTPError) {
        self.init(error.status, code: Refusal.snakeCase(error.code.rawValue), message: error.message)
    }

    /// `suggestion` is an existing path.
    static func notFound(suggestion: String?) -> Refusal {
        notFound(hint: suggestion.map { "Did you mean \($0)?" })
    }

    static let emptySegment = notFound(hint: "It ends with a slash: is a name missing after it?")

    static let doubledSlash = notFound(
        hint: "It has two slashes in a row: remove the slash at the end of the client's base URL.")

    /// `segment` begins the path twice; it is the first one of a route.
    static func repeatedSegment(_ segment: String) -> Refusal {
        notFound(
            hint: "The base URL ends with /\(segment) twice, or the client adds /\(segment) itself: leave it out once.")
    }

    private static func notFound(hint: String?) -> Refusal {
        Refusal(.notFound, code: "not_found", message: "There is nothing at this path.\(hint.map { " \($0)" } ?? "")")
    }

    /// `allow` is the value of the Allow field.
    static func methodNotAllowed(_ allow: String) -> Refusal {
        Refusal(
            .methodNotAllowed, code: "method_not_allowed",
            message: "This path does not have that method. It has \(allow).",
            fields: FieldValue(validating: allow).map { [.allow: $0] } ?? [:])
    }

    static let misdirected = Refusal(
        .misdirectedRequest, code: "misdirected_request",
        message: "This server does not answer to the name in the Host field.")
    static let foreignOrigin = Refusal(
        .forbidden, code: "forbidden_origin", message: "A web page of another origin may not use this server.")
    static let formOfPage = Refusal(
        .unsupportedMediaType, code: "unsupported_media_type",
        message: "A web page must send JSON: set Content-Type to application/json.")
    // RFC 9110 12.5.3: the field names the accepted codings.
    static let compressed = Refusal(
        .unsupportedMediaType, code: "unsupported_content_encoding",
        message: "Compressed bodies are not accepted: send the body as it is, without Content-Encoding.",
        fields: [.acceptEncoding: "identity"])
    static let headTimedOut = Refusal(
        .requestTimeout, code: "head_timeout", message: "The head of the request took too long to arrive.")
    static let bodyTimedOut = Refusal(
        .requestTimeout, code: "body_timeout", message: "The body of the request took too long to arrive.")
    static let truncated = Refusal(HTTPError(.truncated))
    static func noRoom(_ memory: MemoryBudget) -> Refusal {
        Refusal(.serviceUnavailable, code: "overloaded", message: memory.refusal, retryAfter: 1)
    }
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
