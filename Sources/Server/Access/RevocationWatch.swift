import ChatterdIdentity
import ChatterdRelay

/// Ends the response of one request when its credential is revoked.
struct RevocationWatch {
    let responses: RevocableResponses
    let principal: Principal

    /// Registers the response. `end` ends it with an error.
    func begin(_ end: @escaping (RelayError) -> Void) -> RevocableResponses.Registration? {
        responses.add(principal, end: end)
    }
}
