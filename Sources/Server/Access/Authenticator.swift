import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdRelay

/// Checks the credentials of requests. Confined to its shard.
final class Authenticator {
    private let access: Configuration.Access
    private let adminToken: AdminToken?

    init(_ configuration: Configuration) {
        access = configuration.access
        adminToken = configuration.upstreams.adminToken.map(AdminToken.init)
    }

    /// The principal of a request.
    ///
    /// - Throws: `unauthorized`.
    func principal(of head: RequestHead) async throws(RelayError) -> Principal {
        let credential: CredentialText
        do throws(AccessError) {
            credential = try CredentialText(of: head)
        } catch {
            throw RelayError(error)
        }
        switch credential {
        case .none: return try anyone()
        case .bearer(let text):
            if let adminToken, adminToken.matches(text) { return .administrator }
            return try anyone()
        }
    }

    /// The principal of a request without a credential of this server.
    private func anyone() throws(RelayError) -> Principal {
        guard access.mode == .open else {
            throw RelayError(AccessError(.unauthorized, "The credential is unknown."))
        }
        return .anyone
    }
}
