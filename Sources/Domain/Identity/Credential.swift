/// The kind and the name of the credential behind a principal, for revocation and for the audit log. It has no secret.
public enum Credential: Sendable, Hashable {
    /// No credential: a request in `open` mode.
    case none
    /// The token of the administrator.
    case adminToken
    /// A key of an app, by its id.
    case key(id: String)
    /// A client token, or a signed link, made with a key. `issuedAt` is in seconds since 1970.
    case token(key: String, issuedAt: Int64)
    /// A token of an external issuer. `issuedAt` is in seconds since 1970.
    case issuer(String, issuedAt: Int64)
    /// A signed link, with the credential that it was made with.
    indirect case link(of: Credential)
    /// A session of a browser, by its id, with the credential that was exchanged for it.
    indirect case session(id: String, of: Credential)
}
