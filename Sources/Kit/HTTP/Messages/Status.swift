/// The status of a response, RFC 9110 section 15.
public struct Status: Sendable, Hashable {
    /// The code, three digits.
    public let code: Int

    /// Creates a status from a code from 100 to 999; `nil` for any other number.
    public init?(_ code: Int) {
        guard (100...999).contains(code) else { return nil }
        self.code = code
    }

    private init(known code: Int) {
        self.code = code
    }

    /// Whether the response is interim and another follows.
    public var isInformational: Bool { code < 200 }
    /// Whether the request was understood and accepted.
    public var isSuccess: Bool { (200..<300).contains(code) }
    /// Whether the response is a redirection.
    public var isRedirection: Bool { (300..<400).contains(code) }
    /// Whether the request is the cause of the failure.
    public var isClientError: Bool { (400..<500).contains(code) }
    /// Whether the server is the cause of the failure. Unknown classes count as this one, RFC 9110 15.
    public var isServerError: Bool { code >= 500 }

    /// 100: the client may send the body.
    public static let `continue` = Status(known: 100)
    /// 101: another protocol follows.
    public static let switchingProtocols = Status(known: 101)
    /// 200: success.
    public static let ok = Status(known: 200)
    /// 201: the resource was created.
    public static let created = Status(known: 201)
    /// 202: the request will be processed.
    public static let accepted = Status(known: 202)
    /// 204: success without content.
    public static let noContent = Status(known: 204)
    /// 304: the client's copy is current.
    public static let notModified = Status(known: 304)
    /// 400: the request is malformed.
    public static let badRequest = Status(known: 400)
    /// 401: credentials are missing or wrong.
    public static let unauthorized = Status(known: 401)
    /// 403: the client has no permission.
    public static let forbidden = Status(known: 403)
    /// 404: no such resource.
    public static let notFound = Status(known: 404)
    /// 405: the resource has no such method.
    public static let methodNotAllowed = Status(known: 405)
    /// 408: the request took too long to arrive.
    public static let requestTimeout = Status(known: 408)
    /// 409: the request conflicts with the state of the resource.
    public static let conflict = Status(known: 409)
    /// 413: the body is too large.
    public static let contentTooLarge = Status(known: 413)
    /// 414: the request line is too long.
    public static let uriTooLong = Status(known: 414)
    /// 415: the type of the body is not accepted.
    public static let unsupportedMediaType = Status(known: 415)
    /// 417: the expectation cannot be met.
    public static let expectationFailed = Status(known: 417)
    /// 421: the request names another server.
    public static let misdirectedRequest = Status(known: 421)
    /// 422: the body is well-formed, but invalid in meaning.
    public static let unprocessableContent = Status(known: 422)
    /// 429: a limit of the client is reached.
    public static let tooManyRequests = Status(known: 429)
    /// 431: the head is too large.
    public static let requestHeaderFieldsTooLarge = Status(known: 431)
    /// 500: the server failed.
    public static let internalServerError = Status(known: 500)
    /// 501: the method is not implemented.
    public static let notImplemented = Status(known: 501)
    /// 502: the upstream sent an invalid response.
    public static let badGateway = Status(known: 502)
    /// 503: the server cannot serve the request at present.
    public static let serviceUnavailable = Status(known: 503)
    /// 504: the upstream took too long.
    public static let gatewayTimeout = Status(known: 504)
    /// 505: the version of HTTP is not supported.
    public static let versionNotSupported = Status(known: 505)
}

extension Status {
    /// The standard reason phrase; empty for a code without one.
    public var reason: StaticString {
        switch code {
        case 100: "Continue"
        case 101: "Switching Protocols"
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 203: "Non-Authoritative Information"
        case 204: "No Content"
        case 205: "Reset Content"
        case 206: "Partial Content"
        case 300: "Multiple Choices"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 303: "See Other"
        case 304: "Not Modified"
        case 307: "Temporary Redirect"
        case 308: "Permanent Redirect"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 402: "Payment Required"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 406: "Not Acceptable"
        case 407: "Proxy Authentication Required"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 410: "Gone"
        case 411: "Length Required"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 416: "Range Not Satisfiable"
        case 417: "Expectation Failed"
        case 421: "Misdirected Request"
        case 422: "Unprocessable Content"
        case 426: "Upgrade Required"
        case 428: "Precondition Required"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        case 505: "HTTP Version Not Supported"
        default: ""
        }
    }
}
