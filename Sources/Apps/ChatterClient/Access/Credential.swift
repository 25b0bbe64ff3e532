/// The credential of a client. docs/access.md explains the forms.
public enum Credential: Sendable, Hashable {
    /// The name of an app: enough for a server in `open` mode.
    case app(String)
    /// A key of an app or a client token, sent as `Authorization: Bearer`.
    case bearer(String)
    /// Client tokens that are renewed before they expire.
    case tokens(TokenSource)

    /// The app that requests name; `nil` if the credential decides it.
    var app: String? {
        if case .app(let name) = self { name } else { nil }
    }
}
