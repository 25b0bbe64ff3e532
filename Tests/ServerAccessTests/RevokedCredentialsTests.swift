import ChatterdCryptography
import ChatterdIdentity
import Testing

@testable import ChatterdPostgresStore
@testable import ChatterdServer

/// Many revocations at once, and the cache of principals that they concern.
@Suite struct RevokedCredentialsTests {
    private static let ada = Owner(app: "shop", person: "ada")

    private func record(_ revocation: Revocation?, at second: Int64 = 100, expiresAt: Int64? = nil) -> RevocationRecord
    {
        RevocationRecord(revision: 1, revocation: revocation, at: second, expiresAt: expiresAt)
    }

    private func token(_ issuedAt: Int64, of owner: Owner = ada) -> Principal {
        Principal(owner: owner, scopes: [.chat], credential: .token(key: "1", issuedAt: issuedAt))
    }

    private func session(_ id: String) -> Principal {
        Principal(owner: Self.ada, scopes: [.chat], credential: .session(id: id, of: .token(key: "1", issuedAt: 200)))
    }

    @Test func revocationOfAPersonEndsWhatWasIssuedUntilThen() {
        let revoked = RevokedCredentials([record(Revocation(person: Self.ada))])
        #expect(revoked.revokes(token(99)) && revoked.revokes(token(100)) && !revoked.revokes(token(101)))
        #expect(!revoked.revokes(token(99, of: Owner(app: "other", person: "ada"))))
        #expect(!revoked.revokes(Principal(owner: Owner(app: "shop"), scopes: [.chat], credential: .key(id: "1"))))
    }

    @Test func latestRevocationOfAPersonCounts() {
        let records = [record(Revocation(person: Self.ada)), record(Revocation(person: Self.ada), at: 50)]
        #expect(RevokedCredentials(records).revokes(token(99)))
    }

    @Test func revocationOfAKeyEndsItsTokensAndSessions() {
        let revoked = RevokedCredentials([record(nil), record(Revocation(key: "1"))])
        #expect(revoked.revokes(token(101)) && revoked.revokes(session("s")))
        #expect(!RevokedCredentials([record(Revocation(key: "2"))]).revokes(token(101)))
    }

    @Test func endedSessionIsForgottenWhenItWouldHaveExpired() {
        let grace = SessionStore.revocationGrace.components.seconds
        var revoked = RevokedCredentials([
            record(Revocation(session: "a"), expiresAt: 1_000), record(Revocation(session: "b"), expiresAt: 2_000),
            record(Revocation(session: "c")),
        ])
        #expect(["a", "b", "c"].allSatisfy { revoked.revokes(session($0)) } && !revoked.revokes(session("d")))
        revoked.sweep(now: 1_000 + grace)
        #expect(revoked.sessionCount == 3)
        revoked.sweep(now: 1_100 + grace)
        #expect(!revoked.revokes(session("a")) && revoked.revokes(session("b")))
        // One without an end is of an earlier version, which adds them for the longest session.
        revoked.sweep(now: 100 + Int64(SessionStore.longestLifetime) + grace)
        #expect(revoked.sessionCount == 1 && revoked.revokes(session("c")))
        revoked.sweep(now: 200 + Int64(SessionStore.longestLifetime) + grace)
        #expect(revoked.sessionCount == 0)
    }

    @Test func cacheLosesThePrincipalsOfManyRevocations() {
        var cache = PrincipalCache()
        func digest(_ number: Int) -> SHA256Digest { SHA256Digest(of: Array("\(number)".utf8).span) }
        for number in 0..<PrincipalCache.limit {
            cache.insert(session("\(number)"), digest(number), now: 0)
        }
        let revoked = RevokedCredentials((0..<1_000).map { record(Revocation(session: "\(2 * $0)"), expiresAt: 9) })
        cache.remove { revoked.revokes($0) }
        let left = (0..<PrincipalCache.limit).filter { cache.principal(digest($0), now: 1) != nil }
        #expect(left == (0..<PrincipalCache.limit).filter { $0 % 2 == 1 || $0 >= 2_000 })
        // The oldest of those that are left leaves first.
        for number in PrincipalCache.limit..<PrincipalCache.limit + 1_001 {
            cache.insert(session("\(number)"), digest(number), now: 0)
        }
        #expect(cache.principal(digest(1), now: 1) == nil && cache.principal(digest(3), now: 1) != nil)
    }

    /// The memory of a body has the app of a credential that must be verified again, and none of a revoked one.
    @Test func principalIsRememberedUntilItIsRevoked() {
        var cache = PrincipalCache()
        let digest = SHA256Digest(of: Array("a".utf8).span)
        #expect(cache.formerPrincipal(digest) == nil)
        cache.insert(session("a"), digest, now: 0)
        #expect(cache.principal(digest, now: PrincipalCache.lifetime) == nil)
        #expect(cache.formerPrincipal(digest) != nil)
        cache.remove { _ in true }
        #expect(cache.formerPrincipal(digest) == nil)
    }
}
