import ChatterdBasics
import ChatterdIdentity
import ChatterdPostgres

/// The SQL of the sessions of browsers. It crosses apps: the check of credentials uses it.
enum SessionStatements {
    /// Adds a session, and removes expired sessions and all but the newest of the same credential. Returns the end of the session in seconds
    /// since 1970.
    ///
    /// - Parameter limit: the number of sessions of one credential.
    static func insert(
        _ hash: [UInt8], _ credential: StoredCredential, of principal: Principal, expiresAt: Int64, limit: Int
    ) -> Query<Void> {
        let owner = principal.owner
        let allowance = principal.allowance
        return Query(
            insertStatement, .bytes(hash), .text(credential.kind.rawValue), .text(credential.subject),
            int8(credential.issuedAt), text(owner?.app), text(owner?.person),
            .text(principal.scopes.sorted().map(\.rawValue).joined(separator: " ")),
            StoredNames.parameter(principal.conversations?.map(\.text).sorted()),
            StoredNames.parameter(principal.models?.map(\.text).sorted()),
            int8(allowance.requestsPerMinute.map(Int64.init)), int8(allowance.tokensPerDay.map(Int64.init)),
            int8(allowance.concurrentReplies.map(Int64.init)), .int8(expiresAt), .int8(limit))
    }

    private static func text(_ value: String?) -> Parameter { value.map { .text($0) } ?? .null }
    private static func int8(_ value: Int64?) -> Parameter { value.map { .int8($0) } ?? .null }

    private static let insertStatement = Statement(
        "insert_session", .bytes, .text, .text, .int8, .text, .text, .text, .text, .text, .int8, .int8, .int8, .int8,
        .int8,
        sql: """
            WITH expired AS (
                DELETE FROM chatterd_sessions WHERE expires_at <= now()
            ), surplus AS (
                DELETE FROM chatterd_sessions WHERE hash IN (
                    SELECT s.hash FROM chatterd_sessions s
                    WHERE s.kind = $2 AND s.subject = $3 AND s.person IS NOT DISTINCT FROM $6
                    ORDER BY s.created_at DESC OFFSET $14 - 1)
            )
            INSERT INTO chatterd_sessions (
                hash, kind, subject, issued_at, app, person, scopes, conversations, models, requests_per_minute,
                tokens_per_day, concurrent_replies, expires_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, to_timestamp($13))
            """)

    /// The session of a cookie, unless it has expired.
    static func find(_ hash: [UInt8]) -> Query<StoredSession> { Query(findStatement, .bytes(hash)) }

    private static let findStatement = Statement(
        "find_session", .bytes, returnsBinary: true,
        sql: """
            SELECT kind, subject, issued_at, app, person, scopes, conversations, models, requests_per_minute, tokens_per_day,
                concurrent_replies, extract(epoch FROM expires_at)::int8
            FROM chatterd_sessions WHERE hash = $1 AND expires_at > now()
            """
    ) { row in
        let credential = StoredCredential(
            kind: row.nextText(), subject: row.nextText(), issuedAt: row.nextOptionalInt().map(Int64.init))
        let (app, person) = (row.nextOptionalText(), row.nextOptionalText())
        var session = StoredSession(credential: credential, owner: app.map { Owner(app: $0, person: person) })
        session.scopes = Set(row.nextText().split(separator: " ").compactMap { Scope(rawValue: String($0)) })
        session.conversations = row.nextOptionalText().map { Set(StoredNames.parse($0).map(ExactText.init)) }
        session.models = row.nextOptionalText().map { Set(StoredNames.parse($0).map(ExactText.init)) }
        session.allowance = Allowance(
            requestsPerMinute: row.nextOptionalInt(), tokensPerDay: row.nextOptionalInt(),
            concurrentReplies: row.nextOptionalInt())
        session.expiresAt = Int64(row.nextInt())
        return session
    }

    /// Removes a session, and adds its revocation if there was one. The transaction holds the lock of `AccessStatements`.
    static func remove(_ hash: [UInt8], _ revocation: Revocation) -> Query<Void> {
        Query(removeStatement, .bytes(hash), .text(revocation.kind.rawValue), .text(revocation.subject))
    }

    private static let removeStatement = Statement(
        "remove_session", .bytes, .text, .text,
        sql: """
            WITH gone AS (DELETE FROM chatterd_sessions WHERE hash = $1 RETURNING expires_at)
            INSERT INTO chatterd_revocations (revision, kind, subject, expires_at)
            SELECT nextval('chatterd_revisions'), $2, $3, g.expires_at FROM gone g
            """)
}
