import ChatterdIdentity
import ChatterdRelay

/// The running responses of a shard whose credentials can be revoked. Confined to its shard.
final class RevocableResponses {
    private struct Entry {
        let principal: Principal
        let end: (RelayError) -> Void
    }

    private var entries: [Int: Entry] = [:]
    private var lastNumber = 0

    /// The number of responses.
    var count: Int { entries.count }

    /// Adds a response. `end` is called once if its credential is revoked; it ends the response with the error.
    ///
    /// - Returns: a registration that the response cancels at its end; `nil` for a credential that cannot be revoked.
    func add(_ principal: Principal, end: @escaping (RelayError) -> Void) -> Registration? {
        guard principal.isRevocable else { return nil }
        lastNumber += 1
        entries[lastNumber] = Entry(principal: principal, end: end)
        return Registration(number: lastNumber, responses: self)
    }

    /// Ends the responses whose credentials a revocation concerns.
    func end(by revocation: Revocation) {
        let ended = entries.filter { $0.value.principal.isEnded(by: revocation) }
        for (number, entry) in ended {
            entries[number] = nil
            entry.end(Self.revoked)
        }
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
