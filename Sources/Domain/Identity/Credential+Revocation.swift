import ChatterdBasics

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

    /// The id of the session of a browser, or of that which made a link; `nil` for another credential.
    public var sessionID: String? {
        switch self {
        case .session(let id, _): id
        case .link(let credential): credential.sessionID
        case .none, .adminToken, .key, .token, .issuer: nil
        }
    }
}

extension Principal {
    /// Whether the credential can be revoked.
    public var isRevocable: Bool {
        credential.keyID != nil || credential.issuedAt != nil || credential.sessionID != nil
    }
}
