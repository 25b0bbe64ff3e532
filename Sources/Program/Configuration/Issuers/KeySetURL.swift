import ChatterdBasics
import ChatterdSockets

/// The address of an issuer's public keys: an `https` URL, with or without a query.
public struct KeySetURL: Sendable, Hashable, CustomStringConvertible {
    /// Host and port.
    public let address: HostAndPort
    /// The target of the request: the path, and the query if there is one.
    public let target: String

    /// Reads a URL.
    ///
    /// - Throws: a problem whose message shows the right form. It does not quote a text that may contain a password.
    public init(parsing text: String) throws(SettingProblem) {
        let wrong = SettingProblem(
            "must be an https URL such as https://accounts.example/jwks.json, without user and password")
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let url = try? UpstreamURL(parsing: String(first)), url.isSecure,
            text.utf8.allSatisfy({ 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "#") })
        else { throw wrong }
        let path = text.dropFirst("https://".count).drop { $0 != "/" && $0 != "?" }
        address = url.address
        target = path.hasPrefix("/") ? String(path) : "/" + path
    }

    /// The URL.
    public var description: String { "https://\(address)\(target)" }
}
