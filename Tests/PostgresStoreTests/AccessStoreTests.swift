import ChatterdBasics
import ChatterdIdentity
import ChatterdJSONLog
import ChatterdSockets
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore
@testable import ChatterdServer

/// The ends of keys and of people's credentials, as the database has them.
@Suite(.timeLimit(.minutes(30))) struct AccessStoreTests {
    private static let ada = Owner(app: "shop", person: "ada")

    private static func principal(_ credential: Credential) -> Principal {
        Principal(owner: ada, scopes: [.read], credential: credential)
    }

    /// All that is made with a key, and the key.
    private static func principals(of key: String) -> [Principal] {
        let token = Credential.token(key: key, issuedAt: 0)
        return [.key(id: key), token, .session(id: "s", of: token), .link(of: token)].map(principal)
    }

    private static func registry(
        _ processes: StoreProcesses, ahead seconds: Int64 = 0,
        now: @escaping @Sendable () -> Instant = Shard.readClock
    ) -> AccessRegistry {
        AccessRegistry(
            store: AppKeyStore(pool: processes.pool), polled: AppKeyStore(pool: processes.pool),
            sessions: SessionStore(pool: processes.pool),
            log: Log(descriptor: 2), now: now,
            ownTime: { WallClock.seconds() + seconds })
    }

    @Test func rotationOutdatesTheKeyAndWhatWasMadeWithIt() async throws {
        try await StoreProcesses.run { processes in
            let store = AppKeyStore(pool: processes.pool)
            let (old, _) = try await store.create(AppKeyGrant(app: "shop", label: "", scopes: [.chat]), by: "a")
            let made = try await store.rotate(old.id, overlap: .seconds(0), by: "a", now: WallClock.seconds())
            let new = try #require(made).key
            let records = try await store.revocations(after: 0)
            try #require(records.count == 1)
            let revoked = RevokedCredentials(records)
            for principal in Self.principals(of: old.id) {
                #expect(revoked.outdates(principal))
                // Streams of an expired key continue.
                #expect(!revoked.revokes(principal))
            }
            for principal in Self.principals(of: new.id) {
                #expect(!revoked.outdates(principal))
            }
        }
    }

    /// A process that is stopped during its first reading would accept credentials for the time of the stop after their end.
    @Test func slowFirstReadingOfTheClockIsRepeated() async throws {
        try await StoreProcesses.run { processes in
            // The database answers in the middle of the first reading. The next ones take no time.
            let instants = Lock<[UInt64]>([30, 60, 0])
            let registry = Self.registry(processes) {
                instants.withLock { left in
                    let seconds = left.popLast() ?? 30
                    return Instant(nanoseconds: seconds * 1_000_000_000)
                }
            }
            let before = try await registry.store.timeOfDay() / 1_000_000
            _ = await registry.refresh()
            #expect(registry.seconds() >= before)
        }
    }

    /// Without the time of the database, the token would have a date behind the revocation.
    @Test func revocationEndsTokensOfAProcessWhoseClockIsAhead() async throws {
        try await StoreProcesses.run { processes in
            let registry = Self.registry(processes, ahead: 20)
            let grant = try TokenGrant(
                owner: Self.ada, key: "k", scopes: [.read], conversations: nil, models: nil, allowance: Allowance())
            let text = try await registry.makeToken(grant, lifetime: 900, until: nil).text
            let claims = try JSONWebToken(parsing: text).claims
            let issuedAt = try #require(claims.issuedAt)
            #expect(claims.expiresAt == issuedAt + 900)
            let principal = Self.principal(.token(key: "k", issuedAt: issuedAt))
            #expect(!registry.isRevoked(principal))
            try await registry.store.revoke(Self.ada, by: "a")
            _ = await registry.refresh()
            #expect(registry.isRevoked(principal))
        }
    }

    @Test func linkIsRevokedWithTheTokenThatMadeIt() async throws {
        try await StoreProcesses.run { processes in
            let registry = Self.registry(processes)
            let token = Credential.token(key: "k", issuedAt: try await registry.store.timeOfDay() / 1_000_000 - 60)
            // The process that makes the link has not read the revocation.
            try await registry.store.revoke(Self.ada, by: "a")
            try await processes.sql("UPDATE chatterd_revocations SET at = at - interval '30 s'")
            let text = try await registry.makeLink(
                to: .conversation("c"), of: Self.ada, by: token, lifetime: 300, until: nil
            ).text
            let link = try await registry.verifyLink(text, now: registry.seconds())
            _ = await registry.refresh()
            #expect(
                registry.isRevoked(
                    Self.principal(.link(of: .token(key: link.credential, issuedAt: link.issuedAt)))))
        }
    }
}
