import ChatterdBasics
import ChatterdIdentity
import ChatterdPostgres

/// The SQL of keys of apps, of revocations and of the audit log. It crosses apps: the administrator uses it, and the check of credentials.
enum AccessStatements {
    /// A key with the digest of its secret.
    struct StoredKey {
        let key: AppKey
        let hash: [UInt8]
    }

    /// Serializes changes, so that the greatest revision is that of the last change.
    static let lock = Query(
        Statement("access_lock", sql: "SELECT pg_advisory_xact_lock(x'616363657373'::bigint)"))

    /// Adds a key. Returns the row.
    static func insert(id: String, hash: [UInt8], _ grant: AppKeyGrant) -> Query<StoredKey> {
        Query(
            insertStatement, .text(id), .text(grant.app), .text(grant.label), .bytes(hash),
            .text(grant.scopes.sorted().map(\.rawValue).joined(separator: " ")), StoredNames.parameter(grant.models),
            limit(grant.allowance.requestsPerMinute), limit(grant.allowance.tokensPerDay),
            limit(grant.allowance.concurrentReplies), grant.expiresAt.map { .int8($0) } ?? .null)
    }

    private static let insertStatement = Statement(
        "insert_app_key", .text, .text, .text, .bytes, .text, .text, .int8, .int8, .int8, .int8,
        returnsBinary: true,
        sql: """
            INSERT INTO chatterd_app_keys AS k (
                id, app, label, hash, scopes, models, requests_per_minute, tokens_per_day, concurrent_replies, expires_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, to_timestamp($10))
            RETURNING \(columns)
            """,
        decode: decode)

    /// The key with an id.
    static func find(_ id: String) -> Query<StoredKey> { Query(findStatement, .text(id)) }

    private static let findStatement = Statement(
        "find_app_key", .text, returnsBinary: true,
        sql: "SELECT \(columns) FROM chatterd_app_keys k WHERE id = $1", decode: decode)

    /// The keys of an app, or of all apps, the newest first.
    static func list(app: String?, limit: Int) -> Query<StoredKey> {
        Query(listStatement, app.map { .text($0) } ?? .null, .int8(limit))
    }

    private static let listStatement = Statement(
        "list_app_keys", .text, .int8, returnsBinary: true,
        sql: """
            SELECT \(columns) FROM chatterd_app_keys k WHERE $1 IS NULL OR app = $1 ORDER BY created_at DESC, id LIMIT $2
            """,
        decode: decode)

    /// Whether there is a valid key.
    static let isAnyValid = Query(
        Statement(
            "any_app_key",
            sql: """
                SELECT EXISTS (
                    SELECT FROM chatterd_app_keys WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()))
                """
        ) { row in row.nextBool() })

    /// Revokes a key, unless it is revoked already. Returns the row; no row for an unknown key.
    static func revoke(_ id: String) -> Query<StoredKey> { Query(revokeStatement, .text(id)) }

    private static let revokeStatement = Statement(
        "revoke_app_key", .text, returnsBinary: true,
        sql: """
            UPDATE chatterd_app_keys k SET revoked_at = coalesce(revoked_at, now()) WHERE id = $1 RETURNING \(columns)
            """,
        decode: decode)

    /// Sets the end of a key to at most `overlap` from now. Returns the row; no row for an unknown or revoked key.
    static func expire(_ id: String, after overlap: Duration) -> Query<StoredKey> {
        Query(expireStatement, .text(id), .int8(overlap.components.seconds))
    }

    private static let expireStatement = Statement(
        "expire_app_key", .text, .int8, returnsBinary: true,
        sql: """
            UPDATE chatterd_app_keys k SET expires_at = least(expires_at, now() + make_interval(secs => $2))
            WHERE id = $1 AND revoked_at IS NULL RETURNING \(columns)
            """,
        decode: decode)

    /// Adds a revocation. The transaction holds the lock.
    static func addRevocation(_ revocation: Revocation) -> Query<Int> {
        Query(addRevocationStatement, .text(revocation.kind.rawValue), .text(revocation.subject))
    }

    private static let addRevocationStatement = Statement(
        "add_revocation", .text, .text,
        sql: """
            INSERT INTO chatterd_revocations (revision, kind, subject) VALUES (nextval('chatterd_revisions'), $1, $2)
            RETURNING revision
            """
    ) { row in
        row.nextInt()
    }

    /// The first revocations after a revision, in order.
    static func revocations(after revision: Int, limit: Int) -> Query<RevocationRecord> {
        Query(revocationsStatement, .int8(revision), .int8(limit))
    }

    private static let revocationsStatement = Statement(
        "revocations", .int8, .int8,
        sql: """
            SELECT revision, kind, subject, floor(extract(epoch FROM at))::int8, ceil(extract(epoch FROM expires_at))::int8
            FROM chatterd_revocations WHERE revision > $1 AND (\(isOver)) IS NOT TRUE
            ORDER BY revision LIMIT $2
            """
    ) { row in
        RevocationRecord(
            revision: row.nextInt(), revocation: Revocation(kind: row.nextText(), subject: row.nextText()),
            at: Int64(row.nextInt()), expiresAt: row.nextOptionalInt().map(Int64.init))
    }

    /// Whether a revocation is of a session that has expired since. A process of an earlier version adds one without the end.
    private static let isOver = """
        coalesce(expires_at, CASE WHEN kind = 'session' THEN at + interval '\(SessionStore.longestLifetime) s' END)
            < now() - interval '\(SessionStore.revocationGrace.components.seconds) s'
        """

    /// Removes old entries of the audit log, and revocations that are older than any credential that they concern.
    static func removeOld(after age: Duration) -> Query<Void> {
        Query(removeOldStatement, .int8(age.components.seconds))
    }

    private static let removeOldStatement = Statement(
        "remove_old_access", .int8,
        sql: """
            WITH revocations AS (
                DELETE FROM chatterd_revocations WHERE at < now() - make_interval(secs => $1) OR \(isOver))
            DELETE FROM chatterd_audit WHERE at < now() - make_interval(secs => $1)
            """)

    /// The time of day, in microseconds since 1970.
    static let timeOfDay = Query(
        Statement(
            "time_of_day", returnsBinary: true,
            sql: "SELECT \(StoredTime.microseconds("clock_timestamp()"))"
        ) { row in Int64(row.nextInt()) })

    // MARK: - Signing keys

    /// Adds a signing key unless one is younger than `lifetime`, and removes those that are older than twice as much. The transaction holds
    /// the lock.
    static func renewSigningKey(id: String, seed: [UInt8], lifetime: Duration) -> Query<Void> {
        Query(renewSigningKeyStatement, .text(id), .bytes(seed), .int8(lifetime.components.seconds))
    }

    private static let renewSigningKeyStatement = Statement(
        "renew_signing_key", .text, .bytes, .int8,
        sql: """
            WITH gone AS (DELETE FROM chatterd_signing_keys WHERE created_at < now() - make_interval(secs => 2 * $3))
            INSERT INTO chatterd_signing_keys (id, seed)
            SELECT $1, $2
            WHERE NOT EXISTS (
                SELECT FROM chatterd_signing_keys WHERE created_at > now() - make_interval(secs => $3))
            """)

    /// The signing keys, the newest first.
    static let signingKeys = Query(
        Statement(
            "signing_keys", returnsBinary: true,
            sql: "SELECT id, seed FROM chatterd_signing_keys ORDER BY created_at DESC, id"
        ) { row in StoredSigningKey(id: row.nextText(), seed: row.nextBytes()) })

    // MARK: - Audit log

    /// Adds an entry to the audit log.
    static func audit(_ entry: AuditEntry) -> Query<Void> {
        Query(
            auditStatement, .text(entry.actor), .text(entry.action.rawValue), entry.app.map { .text($0) } ?? .null,
            .text(entry.subject))
    }

    private static let auditStatement = Statement(
        "audit", .text, .text, .text, .text,
        sql: "INSERT INTO chatterd_audit (actor, action, app, subject) VALUES ($1, $2, $3, $4)")

    /// Adds the deletion of a conversation to the audit log, if the conversation exists.
    static func auditDeletion(of key: ConversationKey, by actor: String) -> Query<Void> {
        let entry = AuditEntry(deletionOf: key, by: actor)
        return Query(
            auditDeletionStatement, .text(entry.actor), .text(entry.action.rawValue), .text(key.owner.app),
            .text(entry.subject), .text(key.text))
    }

    private static let auditDeletionStatement = Statement(
        "audit_deletion", .text, .text, .text, .text, .text,
        sql: """
            INSERT INTO chatterd_audit (actor, action, app, subject) SELECT $1, $2, $3, $4
            WHERE EXISTS (SELECT FROM chatts WHERE appid = $5)
                OR EXISTS (SELECT FROM chatterd_conversations WHERE appid = $5)
            """)

    /// Entries of the audit log before an id, the newest first.
    static func auditEntries(before id: Int?, limit: Int) -> Query<AuditRecord> {
        Query(auditEntriesStatement, id.map { .int8($0) } ?? .null, .int8(limit))
    }

    private static let auditEntriesStatement = Statement(
        "audit_entries", .int8, .int8,
        sql: """
            SELECT id, extract(epoch FROM at)::int8, actor, action, app, subject FROM chatterd_audit
            WHERE $1 IS NULL OR id < $1 ORDER BY id DESC LIMIT $2
            """
    ) { row in
        AuditRecord(
            id: row.nextInt(), at: Int64(row.nextInt()), actor: row.nextText(), action: row.nextText(),
            app: row.nextOptionalText(), subject: row.nextText())
    }

    // MARK: - Parts

    private static let columns = """
        k.id, k.app, k.label, k.hash, k.scopes, k.models, k.requests_per_minute, k.tokens_per_day, k.concurrent_replies,
            extract(epoch FROM k.created_at)::int8, extract(epoch FROM k.expires_at)::int8,
            extract(epoch FROM k.revoked_at)::int8
        """

    private static let decode: @Sendable (inout Row) -> StoredKey = { row in
        let id = row.nextText()
        var grant = AppKeyGrant(app: row.nextText(), label: row.nextText(), scopes: [])
        let hash = row.nextBytes()
        grant.scopes = Set(row.nextText().split(separator: " ").compactMap { Scope(rawValue: String($0)) })
        grant.models = row.nextOptionalText().map(StoredNames.parse)
        grant.allowance = Allowance(
            requestsPerMinute: row.nextOptionalInt(), tokensPerDay: row.nextOptionalInt(),
            concurrentReplies: row.nextOptionalInt())
        let createdAt = Int64(row.nextInt())
        grant.expiresAt = row.nextOptionalInt().map(Int64.init)
        return StoredKey(
            key: AppKey(
                id: id, grant: grant, createdAt: createdAt, revokedAt: row.nextOptionalInt().map(Int64.init)),
            hash: hash)
    }

    private static func limit(_ value: Int?) -> Parameter { value.map { .int8($0) } ?? .null }
}
