import ChatterdBasics
import ChatterdIdentity
import ChatterdPostgresStore

/// Revocations as a set, so that a principal is checked against all of them at once.
struct RevokedCredentials {
    /// The time between two searches for sessions that can be forgotten, in seconds.
    private static let sweepInterval: Int64 = 60

    private var keys: Set<String> = []
    /// By the ids of ended sessions, when they would have expired. In seconds since 1970.
    private var sessions: [String: Int64] = [:]
    /// By the beginning of the keys of a person's conversations: credentials issued until then are revoked. In seconds since 1970.
    private var persons: [ExactText: Int64] = [:]
    /// The keys whose end has changed.
    private var changedKeys: Set<String> = []
    private var lastSweep: Int64 = 0

    init(_ records: [RevocationRecord] = []) {
        add(records)
    }

    /// The number of ended sessions that are known.
    var sessionCount: Int { sessions.count }

    mutating func add(_ records: [RevocationRecord]) {
        for record in records {
            guard let revocation = record.revocation else { continue }
            switch revocation.kind {
            case .key: keys.insert(revocation.subject)
            case .expiry: changedKeys.insert(revocation.subject)
            case .session:
                sessions[revocation.subject] = record.expiresAt ?? record.at + Int64(SessionStore.longestLifetime)
            case .person: persons[ExactText(revocation.subject), default: .min].raise(to: record.at)
            }
        }
    }

    /// Forgets sessions that would have expired by now.
    mutating func sweep(now: Int64) {
        guard now >= lastSweep + Self.sweepInterval else { return }
        lastSweep = now
        let over = now - SessionStore.revocationGrace.components.seconds
        sessions = sessions.filter { $0.value >= over }
    }

    /// Whether the credential of a principal has ended. A person's credentials that were issued later stay valid.
    func revokes(_ principal: Principal) -> Bool {
        if let key = principal.credential.keyID, keys.contains(key) { return true }
        if let session = principal.credential.sessionID, sessions[session] != nil { return true }
        guard let owner = principal.owner, owner.person != nil, let issuedAt = principal.credential.issuedAt,
            let end = persons[ExactText(owner.keyPrefix)]
        else { return false }
        return issuedAt <= end
    }
}

extension RevokedCredentials {
    /// Whether what a process keeps of a verified credential is out of date: it has ended, or the end of its key has changed.
    func outdates(_ principal: Principal) -> Bool {
        if let key = principal.credential.keyID, changedKeys.contains(key) { return true }
        return revokes(principal)
    }
}

extension Int64 {
    fileprivate mutating func raise(to other: Int64) { self = Swift.max(self, other) }
}
