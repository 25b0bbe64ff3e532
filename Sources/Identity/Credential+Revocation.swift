extension Credential {
    /// The id of the key of an app behind the credential; `nil` without one.
    public var keyID: String? {
        switch self {
        case .none, .adminToken, .issuer: nil
        case .key(let id), .token(let id, _): id
        case .session(_, let credential), .link(let credential): credential.keyID
        }
    }

    /// When it was issued to a person, in seconds since 1970; `nil` for a credential without that.
    public var issuedAt: Int64? {
        switch self {
        case .none, .adminToken, .key: nil
        case .token(_, let issuedAt), .issuer(_, let issuedAt): issuedAt
        case .session(_, let credential), .link(let credential): credential.issuedAt
        }
    }
}

extension Credential {
    /// Whether this is a signed link.
    public var isLink: Bool {
        if case .link = self { true } else { false }
    }

    /// The id of the session of a browser; `nil` for another credential.
    public var sessionID: String? {
        guard case .session(let id, _) = self else { return nil }
        return id
    }
}

extension Principal {
    /// Whether the credential can be revoked.
    public var isRevocable: Bool {
        credential.keyID != nil || credential.issuedAt != nil || credential.sessionID != nil
    }

    /// Whether a revocation ends the credential.
    ///
    /// - Parameter second: when it was made, in seconds since 1970. A person's credentials of this second and earlier ones end.
    public func isEnded(by revocation: Revocation, at second: Int64) -> Bool {
        switch revocation.kind {
        case .key: credential.keyID == revocation.subject
        case .session: credential.sessionID == revocation.subject
        case .expiry: false
        case .person:
            owner?.person != nil && owner?.keyPrefix == revocation.subject
                && credential.issuedAt.map { $0 <= second } ?? false
        }
    }

    /// Whether a credential must be verified again after a revocation.
    ///
    /// - Parameter second: when it was made, in seconds since 1970.
    public func isOutdated(by revocation: Revocation, at second: Int64) -> Bool {
        revocation.kind == .expiry
            ? credential.keyID == revocation.subject : isEnded(by: revocation, at: second)
    }
}
