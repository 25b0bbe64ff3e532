import ChatterdBasics
import ChatterdCryptography
import ChatterdIdentity
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets

/// The keys that sign client tokens, and the revocations, as the database has them, for all shards of this process.
final class AccessRegistry: Sendable {
    /// The issuer and the audience of client tokens. No external issuer can have them (`IssuerList`).
    static let issuer = TokenGrant.issuer
    /// The age at which a new signing key replaces the newest one.
    static let signingKeyLifetime = Duration.seconds(30 * 86_400)

    fileprivate struct State {
        /// The greatest revision of the revocations that are known; `nil` before the first read.
        var revision: Int?
        var revokedKeys: Set<String> = []
        var endedSessions: Set<String> = []
        /// By the beginning of the keys of a person's conversations: tokens issued until then are revoked. In seconds since 1970.
        var revokedPersons: [ExactText: Int64] = [:]
        var clock = DatabaseClock()
        /// The newest first.
        var signingKeys: [(id: String, key: SigningKey)] = []
    }

    let store: AppKeyStore
    let sessions: SessionStore
    private let log: Log
    private let now: @Sendable () -> Instant
    private let ownTime: @Sendable () -> Int64
    private let state = Lock(State())

    /// Makes an empty registry.
    ///
    /// - Parameters:
    ///   - now: the monotonic clock.
    ///   - ownTime: the time of day of this machine, in seconds since 1970.
    init(
        store: AppKeyStore, sessions: SessionStore, log: Log, now: @escaping @Sendable () -> Instant = Shard.readClock,
        ownTime: @escaping @Sendable () -> Int64 = WallClock.seconds
    ) {
        self.store = store
        self.sessions = sessions
        self.log = log
        self.now = now
        self.ownTime = ownTime
    }

    // MARK: - Time of day

    /// The time of day of the database, by which keys, tokens, sessions and links end, in seconds since 1970. Before the first reading it is
    /// that of this machine.
    func seconds() -> Int64 {
        state.withLock { $0.clock.seconds(at: now()) } ?? ownTime()
    }

    /// The time of day of the database, for the date of a credential: a revocation compares it with its own.
    ///
    /// - Throws: errors of the store before the first reading.
    private func date() async throws(RelayError) -> Int64 {
        if state.withLock({ $0.clock.seconds(at: now()) }) == nil {
            try await readClock()
        }
        return seconds()
    }

    private func readClock() async throws(RelayError) {
        let began = now()
        let reading = try await store.timeOfDay()
        let ended = now()
        state.withLock { $0.clock.add(reading, between: began, and: ended) }
    }

    // MARK: - Revocations

    /// Reads the revocations since the last read. If the database is unavailable, the next call does it.
    ///
    /// - Returns: the new ones.
    func refresh() async -> [RevocationRecord] {
        (try? await read()) ?? []
    }

    /// Reads the revocations unless they were read before: the database may have been unavailable when this process started.
    ///
    /// - Throws: errors of the store.
    func requireRevocations() async throws(RelayError) {
        guard state.withLock({ $0.revision == nil }) else { return }
        _ = try await read()
    }

    private func read() async throws(RelayError) -> [RevocationRecord] {
        try await readClock()
        let known = state.withLock { $0.revision ?? 0 }
        let records = try await store.revocations(after: known)
        state.withLock { state in
            state.revision = max(state.revision ?? 0, records.last?.revision ?? 0)
            for record in records {
                state.add(record)
            }
        }
        return records
    }

    /// Whether a credential of a principal is revoked.
    func isRevoked(_ principal: Principal) -> Bool {
        state.withLock { $0.revokes(principal) }
    }

    // MARK: - Client tokens

    /// Reads the signing keys, and makes one if there is none that is young enough.
    ///
    /// - Throws: errors of the store.
    func loadSigningKeys() async throws(RelayError) {
        let stored = try await store.signingKeys(replacing: Self.signingKeyLifetime)
        let keys = stored.compactMap { stored in (try? SigningKey(seed: stored.seed)).map { (stored.id, $0) } }
        state.withLock { $0.signingKeys = keys }
        log.conceal(stored.map { Base64URL.encode($0.seed) })
    }

    /// A signed token, and its lifetime in seconds, which ends at `limit` at the latest.
    ///
    /// - Throws: `storeUnavailable` before the keys were read; `invalidRequest` if the token would be too long.
    func makeToken(
        _ grant: TokenGrant, lifetime: Int64, until limit: Int64?
    ) async throws(RelayError) -> (text: String, lifetime: Int64) {
        let (id, key) = try await signingKey()
        let issuedAt = try await date()
        let expiresAt = min(issuedAt + lifetime, limit ?? .max)
        do throws(TokenError) {
            let token = try UnsignedToken(
                keyID: id, issuer: Self.issuer, audience: Self.issuer, issuedAt: issuedAt, expiresAt: expiresAt,
                grant: grant)
            return (token.text(signature: key.sign(token.signingInput)), expiresAt - issuedAt)
        } catch {
            throw RelayError(.invalidRequest, error.message)
        }
    }

    /// The grant of a client token of chatterd.
    ///
    /// - Throws: `unauthorized`; errors of the store.
    func verify(_ token: JSONWebToken, now: Int64) async throws(RelayError) -> TokenGrant {
        let key = try await verificationKey(token.keyID)
        do throws(TokenError) {
            guard let key else { throw .unknownKey }
            try token.require(key.algorithm)
            guard key.verify(token.signature, of: token.signingInput) else { throw .wrongSignature }
            let requirements = TokenRequirements(
                issuer: Self.issuer, audience: Self.issuer, algorithms: [.edDSA], needsPerson: false)
            try requirements.check(token, at: now)
            return try TokenGrant(of: token)
        } catch {
            throw RelayError(AccessError(.unauthorized, error.message))
        }
    }

    // MARK: - Signed links

    /// A link to a target of an owner, and its lifetime in seconds, which ends at `limit` at the latest. It ends with the credential, whose
    /// date it has: a revocation ends both.
    ///
    /// - Throws: `storeUnavailable` before the signing keys were read; `invalidRequest` for names that a link cannot have.
    func makeLink(
        to target: SignedLink.Target, of owner: Owner, by credential: Credential, lifetime: Int64, until limit: Int64?
    ) async throws(RelayError) -> (text: String, lifetime: Int64) {
        let key = try await signingKey().key
        let now = try await date()
        let expiresAt = min(now + lifetime, limit ?? .max)
        do throws(TokenError) {
            let link = try SignedLink(
                target, owner: owner, credential: credential.keyID ?? "",
                issuedAt: min(credential.issuedAt ?? now, now),
                expiresAt: expiresAt)
            return (link.text(code: key.linkKey.code(of: link.authenticatedBytes)), expiresAt - now)
        } catch {
            throw RelayError(.invalidRequest, error.message)
        }
    }

    /// The link of a text.
    ///
    /// - Throws: `unauthorized`; errors of the store.
    func verifyLink(_ text: String, now: Int64) async throws(RelayError) -> SignedLink {
        do throws(TokenError) {
            let (link, code) = try SignedLink.parse(text)
            try link.check(at: now)
            if isCode(code, of: link) { return link }
            // Another process may have made the key.
            try? await loadSigningKeys()
            guard isCode(code, of: link) else { throw .wrongSignature }
            return link
        } catch {
            throw RelayError(AccessError(.unauthorized, error.message))
        }
    }

    private func isCode(_ code: [UInt8], of link: SignedLink) -> Bool {
        let keys = state.withLock { $0.signingKeys.map(\.key) }
        return keys.contains { $0.linkKey.verify(code, of: link.authenticatedBytes) }
    }

    // MARK: - Signing keys

    private func signingKey() async throws(RelayError) -> (id: String, key: SigningKey) {
        if let newest = state.withLock({ $0.signingKeys.first }) { return newest }
        try await loadSigningKeys()
        guard let newest = state.withLock({ $0.signingKeys.first }) else {
            throw RelayError(.internal, "No key can sign tokens.")
        }
        return newest
    }

    /// The key of that name. An unknown name is looked up, because another process may have made the key.
    private func verificationKey(_ id: String) async throws(RelayError) -> VerificationKey? {
        if let key = known(id) { return key }
        try await loadSigningKeys()
        return known(id)
    }

    private func known(_ id: String) -> VerificationKey? {
        state.withLock { $0.signingKeys.first { $0.id == id }?.key.verificationKey }
    }
}

extension SigningKey {
    /// The key of the codes of links, which is derived from the seed.
    fileprivate var linkKey: AuthenticationKey {
        AuthenticationKey(bytes: AuthenticationKey(bytes: seed).code(of: Array("chatterd links".utf8)))
    }
}

extension AccessRegistry.State {
    fileprivate mutating func add(_ record: RevocationRecord) {
        guard let revocation = record.revocation else { return }
        switch revocation.kind {
        case .key: revokedKeys.insert(revocation.subject)
        case .session: endedSessions.insert(revocation.subject)
        case .person: revokedPersons[ExactText(revocation.subject)] = record.at
        // Each process drops what it keeps, and the row of the key has the end.
        case .expiry: break
        }
    }

    fileprivate func revokes(_ principal: Principal) -> Bool {
        if let key = principal.credential.keyID, revokedKeys.contains(key) { return true }
        if let session = principal.credential.sessionID, endedSessions.contains(session) { return true }
        guard let owner = principal.owner, owner.person != nil, let issuedAt = principal.credential.issuedAt,
            let end = revokedPersons[ExactText(owner.keyPrefix)]
        else { return false }
        return issuedAt <= end
    }
}
