import ChatterdBasics
import ChatterdCryptography
import ChatterdIdentity

/// Verified principals by the digests of their credentials. Bounded: the oldest entry leaves first.
struct PrincipalCache {
    /// The limit of entries.
    static let limit = 4_096
    /// The time after which a credential is verified again, in seconds: a second line behind the revocations.
    static let lifetime: Int64 = 300

    private struct Entry {
        let principal: Principal
        /// In seconds since 1970.
        let end: Int64
    }

    private var entries: [SHA256Digest: Entry] = [:]
    private var order = Queue<SHA256Digest>()

    /// The principal of a credential; `nil` if it must be verified.
    ///
    /// - Parameter now: in seconds since 1970.
    func principal(_ digest: SHA256Digest, now: Int64) -> Principal? {
        guard let entry = entries[digest], entry.end > now else { return nil }
        return entry.principal
    }

    /// The principal that a credential had when it was verified last, also after the time for which it is trusted.
    func formerPrincipal(_ digest: SHA256Digest) -> Principal? { entries[digest]?.principal }

    /// Adds a verified principal.
    mutating func insert(_ principal: Principal, _ digest: SHA256Digest, now: Int64) {
        if entries.updateValue(
            Entry(principal: principal, end: min(now + Self.lifetime, principal.expiresAt ?? .max)), forKey: digest)
            == nil
        {
            order.append(digest)
        }
        while entries.count > Self.limit, let oldest = order.popFirst() {
            entries[oldest] = nil
        }
    }

    /// Removes the principals that match, in one pass.
    mutating func remove(where matches: (Principal) -> Bool) {
        let gone = entries.filter { matches($0.value.principal) }.keys
        guard !gone.isEmpty else { return }
        for digest in gone {
            entries[digest] = nil
        }
        var left = Queue<SHA256Digest>()
        while let digest = order.popFirst() {
            if entries[digest] != nil { left.append(digest) }
        }
        order = left
    }
}
