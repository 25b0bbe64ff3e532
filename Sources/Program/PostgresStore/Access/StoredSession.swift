import ChatterdBasics
import ChatterdIdentity

/// The session of a browser, as its row has it.
public struct StoredSession: Sendable {
    /// The credential that was exchanged for the session; `nil` for a kind of a later version.
    public let credential: StoredCredential?
    let owner: Owner?
    var scopes: Set<Scope> = []
    var conversations: Set<ExactText>?
    var models: Set<ExactText>?
    var allowance = Allowance()
    /// In seconds since 1970.
    var expiresAt: Int64 = 0

    /// The principal of the session.
    public func principal(id: String, of credential: StoredCredential) -> Principal {
        var principal = Principal(
            owner: owner, scopes: scopes, credential: .session(id: id, of: credential.credential))
        principal.conversations = conversations
        principal.models = models
        principal.allowance = allowance
        principal.expiresAt = expiresAt
        return principal
    }
}
