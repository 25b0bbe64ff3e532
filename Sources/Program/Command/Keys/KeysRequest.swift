import ChatterdIdentity

/// A request of `chatterd keys`.
public enum KeysRequest: Sendable, Equatable {
    /// Makes a key that ends after `lifetime`; `nil` for a key without an end.
    case create(AppKeyGrant, lifetime: Duration?)
    /// Lists the keys of an app, or of all apps.
    case list(app: String?)
    /// Revokes a key by its id.
    case revoke(String)
    /// Replaces a key by a new one; the old one stays valid for `overlap`.
    case rotate(String, overlap: Duration)

    /// The time for which a replaced key stays valid unless `--overlap` gives another.
    static let standardOverlap = Duration.seconds(86_400)
}
