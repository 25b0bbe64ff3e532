import ChatterdBasics
import ChatterdConfiguration
import ChatterdCryptography

/// The token of the administrator.
struct AdminToken: Sendable {
    private let digest: SHA256Digest

    init(_ token: ConfigurationSecret) {
        digest = SHA256Digest(of: Array(token.value.utf8).span)
    }

    /// The digest, for the sessions of the administrator.
    var digestText: String { Base64URL.encode(digest.bytes) }

    /// Whether a text is the token. The comparison of the digests has a time that does not depend on the token.
    func matches(_ text: String) -> Bool {
        SHA256Digest(of: Array(text.utf8).span) == digest
    }
}
