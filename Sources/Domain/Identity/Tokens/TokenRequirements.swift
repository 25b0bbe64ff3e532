import ChatterdBasics

/// The required values of the claims of a token. The texts are compared byte by byte.
public struct TokenRequirements: Sendable, Hashable {
    /// The time by which `nbf` may lie ahead, in seconds: issuers write the present instant of their own clock, which may be ahead of
    /// chatterd's. `exp` has no leeway, because a client can get the next token before the end.
    public static let notBeforeLeeway: Int64 = 30

    /// The issuer.
    public let issuer: String
    /// One of the audiences.
    public let audience: String
    /// The algorithms that the issuer may use.
    public let algorithms: Set<SignatureAlgorithm>
    /// Whether the token must name a person.
    public let needsPerson: Bool

    /// Creates requirements.
    public init(
        issuer: String, audience: String, algorithms: Set<SignatureAlgorithm> = Set(SignatureAlgorithm.allCases),
        needsPerson: Bool
    ) {
        self.issuer = issuer
        self.audience = audience
        self.algorithms = algorithms
        self.needsPerson = needsPerson
    }

    /// Checks the algorithm and the claims of a token, whose signature is verified elsewhere.
    ///
    /// - Parameter now: the time of day, in seconds since 1970.
    /// - Returns: the person; `nil` if the token names none.
    /// - Throws: `wrongAlgorithm`, `wrongIssuer`, `wrongAudience`, `missingExpiry`, `expired`, `notYetValid`, `missingPerson`,
    ///   `invalidName`.
    @discardableResult
    public func check(_ token: JSONWebToken, at now: Int64) throws(TokenError) -> String? {
        guard algorithms.contains(token.algorithm) else { throw .wrongAlgorithm }
        let claims = token.claims
        guard let issuer = claims.issuer, ExactText(issuer) == ExactText(self.issuer) else { throw .wrongIssuer }
        guard claims.audiences.contains(where: { ExactText($0) == ExactText(audience) }) else { throw .wrongAudience }
        guard let end = claims.expiresAt else { throw .missingExpiry }
        guard end > now else { throw .expired }
        if let start = claims.notBefore {
            guard start <= now + Self.notBeforeLeeway else { throw .notYetValid }
        }
        guard let person = claims.subject, !person.isEmpty else {
            if needsPerson { throw .missingPerson }
            return nil
        }
        guard Owner.isName(person, upTo: Owner.maximumPersonLength) else { throw .invalidName }
        return person
    }
}
