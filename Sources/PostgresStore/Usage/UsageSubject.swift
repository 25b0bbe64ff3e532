import ChatterdIdentity

/// The subject of a report of usage.
public enum UsageSubject: Sendable, Hashable {
    /// That of a key with all tokens made with it.
    case source(UsageSource)
    /// That of all keys and external issuers of an app.
    case app(String)
    /// That of an owner, with any credential.
    case owner(Owner)
}
