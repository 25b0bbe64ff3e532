import ChatterdBasics
import ChatterdCryptography
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The keys of apps in the database, with their revocations and the audit log.
public struct AppKeyStore: Sendable {
    /// The limit of a list of keys.
    public static let listLimit = 1_000
    /// The limit of entries of the audit log in one answer.
    public static let auditLimit = 1_000

    /// The age at which entries of the audit log, and revocations, are removed: 400 days.
    public static let auditAge = Duration.seconds(400 * 86_400)

    /// The number of revocations that one query reads.
    public static let revocationPage = 1_000

    private let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Makes a key.
    ///
    /// - Returns: the key, and the text with its secret, which is stored nowhere.
    /// - Throws: `storeUnavailable`.
    public func create(
        _ grant: AppKeyGrant, by actor: String
    ) async throws(RelayError) -> (key: AppKey, text: AppKeyText) {
        let text = AppKeyText.random()
        var transaction = Transaction()
        let row = transaction.add(AccessStatements.insert(id: text.id, hash: text.hash, grant))
        transaction.add(AccessStatements.audit(AuditEntry(.keyCreated, of: text.id, app: grant.app, by: actor)))
        guard let stored = try await pool.runForRelay(transaction)[row].first else {
            throw RelayError(.internal, "The key could not be stored.")
        }
        return (stored.key, text)
    }

    /// The keys of an app, or of all apps, the newest first; at most `listLimit`.
    public func list(app: String?) async throws(RelayError) -> [AppKey] {
        try await pool.runForRelay(AccessStatements.list(app: app, limit: Self.listLimit)).map(\.key)
    }

    /// Whether there is a valid key.
    public func isAnyValid() async throws(RelayError) -> Bool {
        try await pool.runForRelay(AccessStatements.isAnyValid).first ?? false
    }

    /// Revokes a key. All processes refuse it within two seconds, and end its streams.
    ///
    /// - Returns: the key; `nil` for an unknown id.
    public func revoke(_ id: String, by actor: String) async throws(RelayError) -> AppKey? {
        guard let found = try await find(id) else { return nil }
        var transaction = Transaction()
        transaction.add(AccessStatements.lock)
        let row = transaction.add(AccessStatements.revoke(id))
        transaction.add(AccessStatements.addRevocation(Revocation(key: id)))
        transaction.add(AccessStatements.audit(AuditEntry(.keyRevoked, of: id, app: found.grant.app, by: actor)))
        return try await pool.runForRelay(transaction)[row].first?.key
    }

    /// Makes a key with the same properties, and ends the old one after `overlap`. All processes know the end within two seconds.
    ///
    /// - Returns: the new key with its text; `nil` for an unknown, expired or revoked key.
    public func rotate(
        _ id: String, overlap: Duration, by actor: String, now: Int64
    ) async throws(RelayError) -> (key: AppKey, text: AppKeyText)? {
        guard let old = try await find(id), old.isValid(at: now) else { return nil }
        let text = AppKeyText.random()
        var transaction = Transaction()
        transaction.add(AccessStatements.lock)
        transaction.add(AccessStatements.expire(id, after: overlap))
        transaction.add(AccessStatements.addRevocation(Revocation(expiryOf: id)))
        let row = transaction.add(AccessStatements.insert(id: text.id, hash: text.hash, old.grant))
        transaction.add(AccessStatements.audit(AuditEntry(.keyRotated, of: id, app: old.grant.app, by: actor)))
        transaction.add(AccessStatements.audit(AuditEntry(.keyCreated, of: text.id, app: old.grant.app, by: actor)))
        return try await pool.runForRelay(transaction)[row].first.map { ($0.key, text) }
    }

    /// Revokes all tokens of a person that were issued until now.
    public func revoke(_ person: Owner, by actor: String) async throws(RelayError) {
        var transaction = Transaction()
        transaction.add(AccessStatements.lock)
        transaction.add(AccessStatements.addRevocation(Revocation(person: person)))
        transaction.add(
            AccessStatements.audit(
                AuditEntry(.personRevoked, of: person.person ?? "", app: person.app, by: actor)))
        _ = try await pool.runForRelay(transaction)
    }

    /// The key of a text, if its secret is right. The key may be expired or revoked.
    public func verify(_ text: AppKeyText) async throws(RelayError) -> AppKey? {
        guard let stored = try await pool.runForRelay(AccessStatements.find(text.id)).first,
            ConstantTime.areEqual(stored.hash, text.hash)
        else { return nil }
        return stored.key
    }

    /// The key with an id.
    public func find(_ id: String) async throws(RelayError) -> AppKey? {
        try await pool.runForRelay(AccessStatements.find(id)).first?.key
    }

    /// The first revocations after a revision, in order; fewer than `revocationPage` if these are all.
    public func revocations(after revision: Int) async throws(RelayError) -> [RevocationRecord] {
        Array(
            try await pool.runForRelay(AccessStatements.revocations(after: revision, limit: Self.revocationPage)))
    }

    /// The keys that sign tokens, the newest first. It changes nothing.
    public func signingKeys() async throws(RelayError) -> [StoredSigningKey] {
        Array(try await pool.runForRelay(AccessStatements.signingKeys))
    }

    /// The time of day of the database, in microseconds since 1970.
    public func timeOfDay() async throws(RelayError) -> Int64 {
        guard let time = try await pool.runForRelay(AccessStatements.timeOfDay).first else {
            throw RelayError(.internal, "The database does not know the time.")
        }
        return time
    }

    /// The keys that sign tokens, the newest first. It adds one unless there is one that is younger than `lifetime`, and removes those
    /// whose tokens have all expired.
    public func signingKeys(replacing lifetime: Duration) async throws(RelayError) -> [StoredSigningKey] {
        var transaction = Transaction()
        transaction.add(AccessStatements.lock)
        transaction.add(
            AccessStatements.renewSigningKey(
                id: AppKeyText.random().id, seed: SigningKey.random().seed, lifetime: lifetime))
        let keys = transaction.add(AccessStatements.signingKeys)
        return Array(try await pool.runForRelay(transaction)[keys])
    }

    /// Adds an entry to the audit log.
    public func record(_ entry: AuditEntry) async throws(RelayError) {
        _ = try await pool.runForRelay(AccessStatements.audit(entry))
    }

    /// Adds the deletion of a conversation to the audit log, if the conversation exists.
    public func recordDeletion(of key: ConversationKey, by actor: String) async throws(RelayError) {
        _ = try await pool.runForRelay(AccessStatements.auditDeletion(of: key, by: actor))
    }

    /// Entries of the audit log before an id, the newest first; at most `limit`.
    public func auditEntries(before id: Int?, limit: Int) async throws(RelayError) -> [AuditRecord] {
        Array(try await pool.runForRelay(AccessStatements.auditEntries(before: id, limit: min(limit, Self.auditLimit))))
    }
}

extension AppKeyText {
    /// A new key.
    fileprivate static func random() -> AppKeyText {
        guard
            let text = AppKeyText(
                id: SecureRandom.bytes(idSize), secret: SecureRandom.bytes(secretSize))
        else { preconditionFailure("the sizes are right") }
        return text
    }

    /// The stored digest of the secret. The secret has 256 random bits, so a plain digest is enough.
    fileprivate var hash: [UInt8] { SHA256Digest(of: secret.span).bytes }
}

/// A revocation as the table has it.
public struct RevocationRecord: Sendable {
    public let revision: Int
    /// `nil` for a kind of a later version.
    public let revocation: Revocation?
    /// In whole seconds since 1970, rounded down.
    public let at: Int64
    /// When the session of the revocation would have expired, in seconds since 1970; `nil` for other kinds.
    public let expiresAt: Int64?
}

/// An entry of the audit log as the table has it.
public struct AuditRecord: Sendable {
    public let id: Int
    /// In seconds since 1970.
    public let at: Int64
    public let actor: String
    public let action: String
    public let app: String?
    public let subject: String
}

/// A key that signs client tokens.
public struct StoredSigningKey: Sendable {
    /// The name of the key, `kid`.
    public let id: String
    /// The seed of Ed25519.
    public let seed: [UInt8]
}
