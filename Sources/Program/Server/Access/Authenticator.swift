import ChatterdBasics
import ChatterdConfiguration
import ChatterdCryptography
import ChatterdHTTP
import ChatterdIdentity
import ChatterdPostgresStore
import ChatterdRelay

/// Checks the credentials of requests. Confined to its shard.
///
/// A credential is verified at its first use. The principal is then kept under the digest of the credential until it expires or is revoked.
final class Authenticator {
    private let access: Configuration.Access
    private let adminToken: AdminToken?
    private let registry: AccessRegistry
    private let issuers: IssuerVerifier
    private var known = PrincipalCache()
    /// The number of changes that have dropped principals.
    private var drops = 0

    init(_ configuration: Configuration, registry: AccessRegistry, issuers: IssuerVerifier) {
        access = configuration.access
        adminToken = configuration.upstreams.adminToken.map(AdminToken.init)
        self.registry = registry
        self.issuers = issuers
    }

    /// The principal of a request without a credential, or with one that is known; `nil` for a credential that must be verified.
    ///
    /// - Throws: `unauthorized`.
    func knownPrincipal(of head: RequestHead) throws(RelayError) -> Principal? {
        let credential = try Self.credential(of: head)
        guard credential != .none else { return try anyone(Self.missing) }
        return known.principal(Self.digest(of: credential), now: registry.seconds())
    }

    /// The app whose memory the body of a request uses while it arrives. It permits nothing: the credential is checked after the body.
    enum BodyApp {
        case app(String)
        /// The credential belongs to no app, or `open` mode does not need it.
        case noApp
        /// The shard has not verified the credential.
        case unverified
    }

    /// Finds the app of a body by the head of its request, without the database.
    func bodyApp(of head: RequestHead) -> BodyApp {
        guard let credential = try? Self.credential(of: head), credential != .none else { return .noApp }
        if let principal = known.formerPrincipal(Self.digest(of: credential)) {
            guard let owner = principal.owner else { return .noApp }
            return .app(owner.app)
        }
        return access.mode == .open ? .noApp : .unverified
    }

    /// The principal of a request whose credential is not known.
    ///
    /// - Throws: `unauthorized`; `issuerUnavailable` and errors of the store.
    func verifiedPrincipal(of head: RequestHead) async throws(RelayError) -> Principal {
        let credential = try Self.credential(of: head)
        let (now, drops) = (registry.seconds(), self.drops)
        guard let principal = try await verify(credential, now: now) else { return try anyone(Self.unknown) }
        try await registry.requireRevocations()
        // The revocation may have come while the credential was verified.
        guard !registry.isRevoked(principal) else { throw RevocableResponses.revoked }
        // The end of its key may have changed meanwhile.
        if drops == self.drops {
            known.insert(principal, Self.digest(of: credential), now: now)
        }
        return principal
    }

    private static func credential(of head: RequestHead) throws(RelayError) -> CredentialText {
        do throws(AccessError) {
            return try CredentialText(of: head)
        } catch {
            throw RelayError(error)
        }
    }

    private static func digest(of credential: CredentialText) -> SHA256Digest {
        SHA256Digest(of: Array(credential.identity.utf8).span)
    }

    /// Drops the principals that must be verified again after revocations.
    func drop(_ revoked: RevokedCredentials) {
        drops += 1
        known.remove { revoked.outdates($0) }
    }

    private static let missing = Principal.neededCredential(for: .chat)
    private static let unknown = AccessError(.unauthorized, "The credential is unknown.")

    /// The principal of a request without a credential of this server. `open` mode ignores the tokens of others: libraries send
    /// invented ones.
    private func anyone(_ error: AccessError) throws(RelayError) -> Principal {
        guard access.mode == .open else { throw RelayError(error) }
        return .anyone
    }

    /// The principal of a credential; `nil` if this server did not issue it.
    ///
    /// - Throws: `unauthorized` for a credential that is wrong, expired or revoked; `issuerUnavailable`; errors of the store.
    private func verify(_ credential: CredentialText, now: Int64) async throws(RelayError) -> Principal? {
        switch credential {
        case .none: nil
        case .bearer(let text): try await bearer(text, now: now)
        case .session(let text): try await session(text, now: now)
        case .link(let text): try await link(text, now: now)
        }
    }

    private func bearer(_ text: String, now: Int64) async throws(RelayError) -> Principal? {
        if let adminToken, adminToken.matches(text) { return .administrator }
        if AppKeyText.hasPrefix(text) { return try await key(AppKeyText(parsing: text), now: now).principal }
        guard JSONWebToken.claimedIssuer(of: text) == AccessRegistry.issuer else {
            return try await issuers.principal(of: text, now: now)
        }
        return try await token(text, now: now)
    }

    /// The principal of a session. It ends with the key of an app behind it.
    private func session(_ text: String, now: Int64) async throws(RelayError) -> Principal {
        guard let session = try await registry.sessions.find(text), let credential = session.credential else {
            throw RelayError(AccessError(.unauthorized, "The session has ended. Make a new one with POST /session."))
        }
        var principal = session.principal(id: SessionStore.id(of: text), of: credential)
        if credential.kind == .admin, credential.subject != adminToken?.digestText {
            throw RelayError(AccessError(.unauthorized, "The administrator's token has changed. Make a new session."))
        }
        if let id = principal.credential.keyID {
            let key = try await validKey(id, of: principal.owner, now: now)
            principal.keyAllowance = key.grant.allowance
            principal.end(with: key)
        }
        return principal
    }

    private func link(_ text: String, now: Int64) async throws(RelayError) -> Principal {
        let link = try await registry.verifyLink(text, now: now)
        var principal = Principal(link)
        if let id = principal.credential.keyID {
            let key = try await validKey(id, of: link.owner, now: now)
            principal.keyAllowance = key.grant.allowance
            principal.end(with: key)
        }
        return principal
    }

    /// The key behind a session or a link.
    ///
    /// - Throws: `unauthorized` unless it is valid; errors of the store.
    private func validKey(_ id: String, of owner: Owner?, now: Int64) async throws(RelayError) -> AppKey {
        guard let owner, let key = try await registry.store.find(id), key.isValid(at: now), key.isOf(owner) else {
            throw RelayError(AccessError(.unauthorized, "The key of the credential has expired, or was revoked."))
        }
        return key
    }

    private func key(_ text: AppKeyText?, now: Int64) async throws(RelayError) -> AppKey {
        guard let text, let key = try await registry.store.verify(text) else {
            throw RelayError(AccessError(.unauthorized, "The key is unknown."))
        }
        guard key.revokedAt == nil else { throw RevocableResponses.revoked }
        guard key.isValid(at: now) else { throw RelayError(AccessError(.unauthorized, "The key has expired.")) }
        return key
    }

    private func token(_ text: String, now: Int64) async throws(RelayError) -> Principal {
        let token: JSONWebToken
        do throws(TokenError) {
            token = try JSONWebToken(parsing: text)
        } catch {
            throw RelayError(AccessError(.unauthorized, error.message))
        }
        let grant = try await registry.verify(token, now: now)
        guard let key = try await registry.store.find(grant.key), key.isValid(at: now), key.isOf(grant.owner) else {
            throw RelayError(AccessError(.unauthorized, "The key of the token has expired, or was revoked."))
        }
        var principal = Principal(
            grant, issuedAt: token.claims.issuedAt ?? 0,
            expiresAt: min(token.claims.expiresAt ?? 0, key.grant.expiresAt ?? .max))
        principal.keyAllowance = key.grant.allowance
        return principal
    }
}

extension AppKey {
    /// Whether the key belongs to the app of an owner.
    fileprivate func isOf(_ owner: Owner) -> Bool { ExactText(grant.app) == ExactText(owner.app) }
}

extension Principal {
    /// Ends the credential with the key behind it at the latest.
    fileprivate mutating func end(with key: AppKey) {
        guard let end = key.grant.expiresAt else { return }
        expiresAt = min(expiresAt ?? end, end)
    }

    /// The principal of a signed link.
    fileprivate init(_ link: SignedLink) {
        // Without a key, the link belongs to a person of an external issuer.
        let credential: Credential =
            link.credential.isEmpty
            ? .issuer("", issuedAt: link.issuedAt) : .token(key: link.credential, issuedAt: link.issuedAt)
        self.init(
            owner: link.owner, scopes: [.read],
            credential: .link(of: link.session.isEmpty ? credential : .session(id: link.session, of: credential)))
        switch link.target {
        case .reply(let id): (conversations, reply) = ([], id)
        case .conversation(let name): conversations = [ExactText(name)]
        }
        expiresAt = link.expiresAt
    }

    /// The principal of a client token.
    fileprivate init(_ grant: TokenGrant, issuedAt: Int64, expiresAt: Int64) {
        self.init(owner: grant.owner, scopes: grant.scopes, credential: .token(key: grant.key, issuedAt: issuedAt))
        conversations = grant.conversations
        models = grant.models
        allowance = grant.allowance
        self.expiresAt = expiresAt
    }
}
