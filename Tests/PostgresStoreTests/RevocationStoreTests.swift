import ChatterdIdentity
import ChatterdPostgres
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore

/// The table of revocations has a row for each credential that was ended, until the credential would have expired.
@Suite(.timeLimit(.minutes(30))) struct RevocationStoreTests {
    private func add(_ processes: StoreProcesses, _ values: String) async throws {
        try await processes.sql(
            """
            INSERT INTO chatterd_revocations (revision, kind, subject, at, expires_at)
            SELECT nextval('chatterd_revisions'), \(values)
            """)
    }

    @Test func revocationsAreReadInPages() async throws {
        try await StoreProcesses.run { processes in
            let store = AppKeyStore(pool: processes.pool)
            let count = AppKeyStore.revocationPage + 1
            try await add(processes, "'key', i::text, now(), NULL FROM generate_series(1, \(count)) i")
            let first = try await store.revocations(after: 0)
            #expect(first.map { $0.revocation?.subject } == (1..<count).map { "\($0)" })
            let second = try await store.revocations(after: first.last?.revision ?? 0)
            #expect(second.map { $0.revocation?.subject } == ["\(count)"])
        }
    }

    @Test func revocationOfASessionIsDroppedWhenItWouldHaveExpired() async throws {
        try await StoreProcesses.run { processes in
            for values in [
                "'session', 'over', now() - interval '1 day', now() - interval '6 minutes'",
                "'session', 'over lately', now() - interval '1 day', now() - interval '1 minute'",
                "'session', 'valid', now(), now() + interval '1 hour'",
                "'session', 'old, of an earlier version', now() - interval '31 days', NULL",
                "'session', 'of an earlier version', now(), NULL",
                "'key', 'key', now() - interval '31 days', NULL",
            ] {
                try await add(processes, values)
            }
            let kept = ["over lately", "valid", "of an earlier version", "key"]
            let store = AppKeyStore(pool: processes.pool)
            #expect(try await store.revocations(after: 0).map { $0.revocation?.subject } == kept)
            _ = try await processes.pool.run(AccessStatements.removeOld(after: AppKeyStore.auditAge))
            let left = try await processes.sql("SELECT subject FROM chatterd_revocations ORDER BY revision")
            #expect(left == kept.map { [$0] })
        }
    }

    @Test func onlyAStoredSessionIsRevoked() async throws {
        try await StoreProcesses.run { processes in
            let sessions = SessionStore(pool: processes.pool)
            let principal = Principal(owner: Owner(app: "shop"), scopes: [.chat], credential: .key(id: "1"))
            let credential = try #require(StoredCredential(principal.credential, administrator: nil))
            let cookie = try await sessions.create(credential, of: principal, expiresAt: 4_000_000_000)
            try await sessions.end("x")
            _ = try await processes.pool.run(SessionStatements.remove([1], Revocation(session: "y")))
            #expect(try await processes.sql("SELECT count(*) FROM chatterd_revocations") == [["0"]])
            try await sessions.end(cookie)
            try await sessions.end(cookie)
            let records = try await AppKeyStore(pool: processes.pool).revocations(after: 0)
            #expect(records.map { $0.revocation?.subject } == [SessionStore.id(of: cookie)])
            #expect(records.map(\.expiresAt) == [4_000_000_000])
            #expect(try await sessions.find(cookie) == nil)
        }
    }
}
