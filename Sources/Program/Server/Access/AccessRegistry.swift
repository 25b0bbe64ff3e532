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

    /// The time after which a process looks whether its signing key has reached that age, in seconds.
    private static let renewalInterval: Int64 = 86_400

    private struct State {
        /// The greatest revision of the revocations that are known; 0 before the first read.
        var revision = 0
        /// Whether all revocations were known once.
        var isWhole = false
        var revoked = RevokedCredentials()
        var clock = DatabaseClock()
        /// The newest first.
        var signingKeys: [(id: String, key: SigningKey)] = []
        /// When the last renewal of the signing keys was tried, in seconds since 1970.
        var renewedAt: Int64 = 0
    }

    let store: AppKeyStore
    /// The same rows, over connections on which no request waits.
    private let polled: AppKeyStore
    let sessions: SessionStore
    private let log: Log
    private let now: @Sendable () -> Instant
    private let ownTime: @Sendable () -> Int64
    private let state = Lock(State())

    /// Makes an empty registry.
    ///
    /// - Parameters:
    ///   - polled: the store from which revocations are read, over connections on which no request waits.
    ///   - now: the monotonic clock.
    ///   - ownTime: the time of day of this machine, in seconds since 1970.
    init(
        store: AppKeyStore, polled: AppKeyStore, sessions: SessionStore, log: Log,
        now: @escaping @Sendable () -> Instant = Shard.readClock,
        ownTime: @escaping @Sendable () -> Int64 = WallClock.seconds
    ) {
        self.store = store
        self.polled = polled
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
            try await readClock(store)
        }
        return seconds()
    }

    /// Reads the clock of the database. Of readings that take long, because the database or this process stood still, the shortest counts.
    private func readClock(_ store: AppKeyStore) async throws(RelayError) {
        var shortest: (time: Int64, began: Instant, ended: Instant)?
        for _ in 0..<Self.clockReadings {
            let began = now()
            let time = try await store.timeOfDay()
            let ended = now()
            if shortest.map({ ended - began < $0.ended - $0.began }) ?? true { shortest = (time, began, ended) }
            if ended - began < Self.shortReading { break }
        }
        guard let (time, began, ended) = shortest else { return }
        state.withLock { $0.clock.add(time, between: began, and: ended) }
    }

    /// A shorter reading of the database's clock is not repeated: a credential may be accepted for that long after its end.
    private static let shortReading = Duration.milliseconds(500)
    /// The maximum number of readings in a row.
    private static let clockReadings = 4

    // MARK: - Revocations

    /// Reads a page of the revocations since the last read. If the database is unavailable, the next call does it.
    ///
    /// - Returns: the new ones; fewer than `AppKeyStore.revocationPage` if these are all.
    func refresh() async -> [RevocationRecord] {
        (try? await read(polled)) ?? []
    }

    /// Reads the revocations unless they were read before: the database may have been unavailable when this process started.
    ///
    /// - Throws: errors of the store.
    func requireRevocations() async throws(RelayError) {
        while !state.withLock({ $0.isWhole }) {
            _ = try await read(store)
        }
    }

    private func read(_ store: AppKeyStore) async throws(RelayError) -> [RevocationRecord] {
        try await readClock(store)
        let known = state.withLock { $0.revision }
        let records = try await store.revocations(after: known)
        let time = seconds()
        state.withLock { state in
            state.revision = max(state.revision, records.last?.revision ?? 0)
            if records.count < AppKeyStore.revocationPage { state.isWhole = true }
            state.revoked.add(records)
            state.revoked.sweep(now: time)
        }
        return records
    }

    /// Whether a credential of a principal is revoked.
    func isRevoked(_ principal: Principal) -> Bool {
        state.withLock { $0.revoked.revokes(principal) }
    }

    // MARK: - Client tokens

    /// Reads the signing keys, and makes one if there is none that is young enough.
    ///
    /// - Throws: errors of the store.
    private func renewSigningKeys() async throws(RelayError) {
        let time = ownTime()
        state.withLock { $0.renewedAt = time }
        keep(try await store.signingKeys(replacing: Self.signingKeyLifetime))
    }

    /// Reads the signing keys, because another process may have made one. Anybody can cause it, so that it changes nothing.
    ///
    /// - Throws: errors of the store.
    private func loadSigningKeys() async throws(RelayError) {
        keep(try await store.signingKeys())
    }

    private func keep(_ stored: [StoredSigningKey]) {
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
                target, owner: owner, credential: credential.keyID ?? "", session: credential.sessionID ?? "",
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
        let time = ownTime()
        let (known, isDue) = state.withLock {
            ($0.signingKeys.first, time >= $0.renewedAt + Self.renewalInterval)
        }
        if let known {
            // A key that cannot be renewed now signs on.
            if isDue { try? await renewSigningKeys() }
            return state.withLock { $0.signingKeys.first } ?? known
        }
        try await renewSigningKeys()
        guard let newest = state.withLock({ $0.signingKeys.first }) else {
            throw RelayError(.internal, "No key can sign tokens.")
        }
        return newest
    }

    /// The key of that name. An unknown name is looked up.
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
