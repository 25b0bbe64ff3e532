/// The registered claims of a token that chatterd uses (RFC 7519, section 4.1). Other claims are ignored.
///
/// Dates are in seconds since 1970. Fractions are rounded so that they never make a token valid for longer.
public struct TokenClaims: Sendable, Hashable {
    /// The limit of audiences.
    public static let maximumAudiences = 16
    /// The limit of an issuer, an audience or a subject, in bytes.
    public static let maximumTextLength = 1_024

    /// `iss`: the one who signed the token.
    public var issuer: String?
    /// `sub`: the person.
    public var subject: String?
    /// `aud`: those that the token is made for.
    public var audiences: [String]
    /// `exp`: the instant from which the token is not valid any more.
    public var expiresAt: Int64?
    /// `nbf`: the instant from which the token is valid.
    public var notBefore: Int64?
    /// `iat`: the instant at which the token was made.
    public var issuedAt: Int64?

    /// Creates claims.
    public init(
        issuer: String? = nil, subject: String? = nil, audiences: [String] = [], expiresAt: Int64? = nil,
        notBefore: Int64? = nil,
        issuedAt: Int64? = nil
    ) {
        self.issuer = issuer
        self.subject = subject
        self.audiences = audiences
        self.expiresAt = expiresAt
        self.notBefore = notBefore
        self.issuedAt = issuedAt
    }

    init(_ object: BoundedObject) throws(TokenError) {
        issuer = try object.text("iss", upTo: Self.maximumTextLength)
        subject = try object.text("sub", upTo: Self.maximumTextLength)
        audiences = try object.textOrTexts("aud", atMost: Self.maximumAudiences, upTo: Self.maximumTextLength) ?? []
        expiresAt = try object.date("exp").map { Int64($0.rounded(.down)) }
        notBefore = try object.date("nbf").map { Int64($0.rounded(.up)) }
        issuedAt = try object.date("iat").map { Int64($0.rounded(.down)) }
    }
}
