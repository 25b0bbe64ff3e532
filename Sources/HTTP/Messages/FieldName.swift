/// The name of a field, RFC 9110 section 5.1: a token in lower case.
public struct FieldName: Sendable, Hashable {
    /// The name in lower case.
    public let text: String

    /// Creates a name from a token in any case; `nil` for any other text.
    public init?(_ text: String) {
        guard Grammar.isToken(text.utf8) else { return nil }
        self.text = text.lowercased()
    }

    init(lowercase text: String) {
        self.text = text
    }

    /// `accept`
    public static let accept = FieldName(lowercase: "accept")
    /// `accept-encoding`
    public static let acceptEncoding = FieldName(lowercase: "accept-encoding")
    /// `access-control-allow-headers`
    public static let accessControlAllowHeaders = FieldName(lowercase: "access-control-allow-headers")
    /// `access-control-allow-methods`
    public static let accessControlAllowMethods = FieldName(lowercase: "access-control-allow-methods")
    /// `access-control-max-age`
    public static let accessControlMaxAge = FieldName(lowercase: "access-control-max-age")
    /// `access-control-request-method`
    public static let accessControlRequestMethod = FieldName(lowercase: "access-control-request-method")
    /// `allow`
    public static let allow = FieldName(lowercase: "allow")
    /// `authorization`
    public static let authorization = FieldName(lowercase: "authorization")
    /// `cache-control`
    public static let cacheControl = FieldName(lowercase: "cache-control")
    /// `connection`
    public static let connection = FieldName(lowercase: "connection")
    /// `content-encoding`
    public static let contentEncoding = FieldName(lowercase: "content-encoding")
    /// `content-length`
    public static let contentLength = FieldName(lowercase: "content-length")
    /// `content-type`
    public static let contentType = FieldName(lowercase: "content-type")
    /// `date`
    public static let date = FieldName(lowercase: "date")
    /// `expect`
    public static let expect = FieldName(lowercase: "expect")
    /// `host`
    public static let host = FieldName(lowercase: "host")
    /// `idempotency-key`
    public static let idempotencyKey = FieldName(lowercase: "idempotency-key")
    /// `keep-alive`
    public static let keepAlive = FieldName(lowercase: "keep-alive")
    /// `last-event-id`
    public static let lastEventID = FieldName(lowercase: "last-event-id")
    /// `location`
    public static let location = FieldName(lowercase: "location")
    /// `on-disconnect`
    public static let onDisconnect = FieldName(lowercase: "on-disconnect")
    /// `origin`
    public static let origin = FieldName(lowercase: "origin")
    /// `queue-events`
    public static let queueEvents = FieldName(lowercase: "queue-events")
    /// `retry-after`
    public static let retryAfter = FieldName(lowercase: "retry-after")
    /// `sec-fetch-site`
    public static let secFetchSite = FieldName(lowercase: "sec-fetch-site")
    /// `server`
    public static let server = FieldName(lowercase: "server")
    /// `te`
    public static let te = FieldName(lowercase: "te")
    /// `trailer`
    public static let trailer = FieldName(lowercase: "trailer")
    /// `transfer-encoding`
    public static let transferEncoding = FieldName(lowercase: "transfer-encoding")
    /// `upgrade`
    public static let upgrade = FieldName(lowercase: "upgrade")
    /// `www-authenticate`
    public static let wwwAuthenticate = FieldName(lowercase: "www-authenticate")
    /// `x-accel-buffering`
    public static let xAccelBuffering = FieldName(lowercase: "x-accel-buffering")
    /// `x-content-type-options`
    public static let xContentTypeOptions = FieldName(lowercase: "x-content-type-options")
    /// `x-request-id`
    public static let xRequestID = FieldName(lowercase: "x-request-id")
}

extension FieldName: CustomStringConvertible {
    /// The name in lower case.
    public var description: String { text }
}
