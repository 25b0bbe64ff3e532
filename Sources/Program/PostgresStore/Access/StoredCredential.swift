import ChatterdIdentity

/// The credential behind a session, as its row has it.
public struct StoredCredential: Sendable, Hashable {
    /// The kinds of credentials that can be exchanged for a session.
    public enum Kind: String, Sendable {
        case admin, key, token, issuer
    }

    public let kind: Kind
    /// The id of the key, or of the key of the token; the name of the issuer; for the administrator a digest of the token.
    public let subject: String
    /// When the token was issued, in seconds since 1970; `nil` for a key and for the administrator.
    public let issuedAt: Int64?

    /// The stored form of a credential; `nil` for one that cannot be exchanged.
    ///
    /// - Parameter administrator: the digest of the administrator's token.
    public init?(_ credential: Credential, administrator: String?) {
        switch credential {
        case .none, .session, .link: return nil
        case .adminToken:
            guard let administrator else { return nil }
            (kind, subject, issuedAt) = (.admin, administrator, nil)
        case .key(let id): (kind, subject, issuedAt) = (.key, id, nil)
        case .token(let key, let instant): (kind, subject, issuedAt) = (.token, key, instant)
        case .issuer(let name, let instant): (kind, subject, issuedAt) = (.issuer, name, instant)
        }
    }

    init?(kind: String, subject: String, issuedAt: Int64?) {
        guard let kind = Kind(rawValue: kind) else { return nil }
        self.kind = kind
        self.subject = subject
        self.issuedAt = issuedAt
    }

    /// The credential.
    public var credential: Credential {
        switch kind {
        case .admin: .adminToken
        case .key: .key(id: subject)
        case .token: .token(key: subject, issuedAt: issuedAt ?? 0)
        case .issuer: .issuer(subject, issuedAt: issuedAt ?? 0)
        }
    }
}
