import ChatterdBasics

/// The name of a field, RFC 9110 section 5.1: a token in lower case.
public struct FieldName: Sendable, Hashable {
    /// The name in lower case.
    public let text: String

    /// Creates a name from a token in any case; `nil` for any other text.
    public init?(_ text: String) {
        guard Grammar.isToken(text.utf8) else { return nil }
        self.text = text.lowercased()
    }

    /// Creates a name from a token that is in lower case.
    package init(lowercase text: String) {
        self.text = text
    }

    /// Compares the lengths first: a look-up compares many names, and most of them differ in it.
    public static func == (left: FieldName, right: FieldName) -> Bool {
        left.text.utf8.count == right.text.utf8.count && left.text == right.text
    }

    public static let accept = FieldName(lowercase: "accept")
    public static let acceptEncoding = FieldName(lowercase: "accept-encoding")
    public static let accessControlAllowHeaders = FieldName(lowercase: "access-control-allow-headers")
    public static let accessControlAllowMethods = FieldName(lowercase: "access-control-allow-methods")
    public static let accessControlMaxAge = FieldName(lowercase: "access-control-max-age")
    public static let accessControlRequestHeaders = FieldName(lowercase: "access-control-request-headers")
    public static let accessControlRequestMethod = FieldName(lowercase: "access-control-request-method")
    public static let allow = FieldName(lowercase: "allow")
    public static let authorization = FieldName(lowercase: "authorization")
    public static let cacheControl = FieldName(lowercase: "cache-control")
    public static let connection = FieldName(lowercase: "connection")
    public static let contentEncoding = FieldName(lowercase: "content-encoding")
    public static let contentLength = FieldName(lowercase: "content-length")
    public static let contentSecurityPolicy = FieldName(lowercase: "content-security-policy")
    public static let contentType = FieldName(lowercase: "content-type")
    public static let cookie = FieldName(lowercase: "cookie")
    public static let date = FieldName(lowercase: "date")
    public static let etag = FieldName(lowercase: "etag")
    public static let expect = FieldName(lowercase: "expect")
    public static let forwarded = FieldName(lowercase: "forwarded")
    public static let host = FieldName(lowercase: "host")
    public static let idempotencyKey = FieldName(lowercase: "idempotency-key")
    public static let ifNoneMatch = FieldName(lowercase: "if-none-match")
    public static let keepAlive = FieldName(lowercase: "keep-alive")
    public static let lastEventID = FieldName(lowercase: "last-event-id")
    public static let location = FieldName(lowercase: "location")
    public static let onDisconnect = FieldName(lowercase: "on-disconnect")
    public static let origin = FieldName(lowercase: "origin")
    public static let stepEvents = FieldName(lowercase: "step-events")
    public static let queueEvents = FieldName(lowercase: "queue-events")
    public static let referrerPolicy = FieldName(lowercase: "referrer-policy")
    public static let retryAfter = FieldName(lowercase: "retry-after")
    public static let secFetchMode = FieldName(lowercase: "sec-fetch-mode")
    public static let secFetchSite = FieldName(lowercase: "sec-fetch-site")
    public static let server = FieldName(lowercase: "server")
    public static let setCookie = FieldName(lowercase: "set-cookie")
    public static let serverTiming = FieldName(lowercase: "server-timing")
    public static let te = FieldName(lowercase: "te")
    public static let traceparent = FieldName(lowercase: "traceparent")
    public static let tracestate = FieldName(lowercase: "tracestate")
    public static let trailer = FieldName(lowercase: "trailer")
    public static let transferEncoding = FieldName(lowercase: "transfer-encoding")
    public static let upgrade = FieldName(lowercase: "upgrade")
    public static let vary = FieldName(lowercase: "vary")
    public static let via = FieldName(lowercase: "via")
    public static let wwwAuthenticate = FieldName(lowercase: "www-authenticate")
    public static let xAPIKey = FieldName(lowercase: "x-api-key")
    public static let xAppID = FieldName(lowercase: "x-app-id")
    public static let xChatterdSession = FieldName(lowercase: "x-chatterd-session")
    public static let xAccelBuffering = FieldName(lowercase: "x-accel-buffering")
    public static let xContentTypeOptions = FieldName(lowercase: "x-content-type-options")
    public static let xConversationID = FieldName(lowercase: "x-conversation-id")
    public static let xForwardedFor = FieldName(lowercase: "x-forwarded-for")
    public static let xForwardedHost = FieldName(lowercase: "x-forwarded-host")
    public static let xForwardedProto = FieldName(lowercase: "x-forwarded-proto")
    public static let xStainlessRetryCount = FieldName(lowercase: "x-stainless-retry-count")
    public static let xHistory = FieldName(lowercase: "x-history")
    public static let xIgnoredMembers = FieldName(lowercase: "x-ignored-members")
    public static let xRateLimitLimitRequests = FieldName(lowercase: "x-ratelimit-limit-requests")
    public static let xRateLimitLimitTokens = FieldName(lowercase: "x-ratelimit-limit-tokens")
    public static let xRateLimitRemainingRequests = FieldName(lowercase: "x-ratelimit-remaining-requests")
    public static let xRateLimitRemainingTokens = FieldName(lowercase: "x-ratelimit-remaining-tokens")
    public static let xRateLimitResetRequests = FieldName(lowercase: "x-ratelimit-reset-requests")
    public static let xRateLimitResetTokens = FieldName(lowercase: "x-ratelimit-reset-tokens")
    public static let xRealIP = FieldName(lowercase: "x-real-ip")
    public static let xRequestID = FieldName(lowercase: "x-request-id")
}

extension FieldName: CustomStringConvertible {
    /// The name in lower case.
    public var description: String { text }
}
