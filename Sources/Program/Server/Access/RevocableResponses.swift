import ChatterdBasics
import ChatterdIdentity
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets

/// The running responses of a shard whose credentials can be revoked. Confined to its shard.
final class RevocableResponses {
    private struct Entry {
        let principal: Principal
        let end: (RelayError) -> Void
    }

    private let registry: AccessRegistry
    private let shard: Shard
    private var entries: [Int: Entry] = [:]
    private var lastNumber = 0

    init(_ registry: AccessRegistry, on shard: Shard) {
        self.registry = registry
        self.shard = shard
    }

    /// The number of responses.
    var count: Int { entries.count }

    /// Adds a response. `end` is called once if its credential is revoked; it ends the response with the error.
    ///
    /// - Returns: a registration that the response cancels at its end; `nil` for a credential that cannot be revoked.
    func add(_ principal: Principal, end: @escaping (RelayError) -> Void) -> Registration? {
        guard principal.isRevocable else { return nil }
        lastNumber += 1
        let number = lastNumber
        entries[number] = Entry(principal: principal, end: end)
        // The revocation may have come while the request was on its way from the check of its credential to its response.
        if registry.isRevoked(principal) {
            let responses = Confined(self, to: shard)
            shard.run { responses.value.end(number) }
        }
        return Registration(number: number, responses: self)
    }

    /// Ends the responses whose credentials revocations concern.
    func end(by revoked: RevokedCredentials) {
        let ended = entries.filter { revoked.revokes($0.value.principal) }
        for number in ended.keys {
            end(number)
        }
    }

    private func end(_ number: Int) {
        entries.removeValue(forKey: number)?.end(Self.revoked)
    }

    /// The error of a request or stream whose credential is revoked.
    static let revoked = RelayError(AccessError(.unauthorized, "The credential has been revoked."))

    /// The entry of one response.
    struct Registration {
        fileprivate let number: Int
        fileprivate let responses: RevocableResponses

        /// Removes the entry.
        func cancel() {
            responses.entries[number] = nil
        }
    }
}

/// Ends the response of one request when its credential is revoked.
struct RevocationWatch {
    let responses: RevocableResponses
    let principal: Principal

    /// Registers the response. `end` ends it with an error.
    func begin(_ end: @escaping (RelayError) -> Void) -> RevocableResponses.Registration? {
        responses.add(principal, end: end)
    }
}
