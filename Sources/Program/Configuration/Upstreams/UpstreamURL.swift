import ChatterdBasics
import ChatterdSockets

/// The URL of a model server: `http://host:port`, with a path prefix if a proxy needs one.
public struct UpstreamURL: Sendable, Hashable, CustomStringConvertible {
    /// Whether the connection is encrypted.
    public let isSecure: Bool
    /// Host and port.
    public let address: HostAndPort
    /// The prefix of the server's paths, without a slash at its end. Usually empty.
    public let path: String

    /// Creates a URL from its parts.
    public init(isSecure: Bool = false, address: HostAndPort, path: String = "") {
        self.isSecure = isSecure
        self.address = address
        self.path = path
    }

    /// Reads a URL.
    ///
    /// - Throws: a problem whose message shows the right form. It does not quote a text that may contain a password.
    public init(parsing text: String) throws(SettingProblem) {
        guard !text.contains("@") else {
            throw SettingProblem("a URL must not hold a user or password; give a key in its own field")
        }
        let wrong = SettingProblem("\"\(SettingText.excerpt(text))\" is not a URL such as http://127.0.0.1:11434")
        let isSecure = text.lowercased().hasPrefix("https://")
        guard isSecure || text.lowercased().hasPrefix("http://") else {
            guard !text.contains("://") else { throw wrong }
            throw SettingProblem("\"\(SettingText.excerpt(text))\" is not a URL: put http:// or https:// before it")
        }
        let rest = text.dropFirst(isSecure ? 8 : 7)
        let authority = rest.prefix { $0 != "/" }
        var path = String(rest[authority.endIndex...])
        while path.hasSuffix("/") { path.removeLast() }
        guard path.utf8.allSatisfy({ 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }) else {
            throw wrong
        }
        self.init(
            isSecure: isSecure, address: try Self.address(authority, port: isSecure ? 443 : 80, else: wrong),
            path: path)
    }

    /// The URL without the default port of its scheme, as a proxy compares the Host field with names of servers.
    public var description: String {
        let isUsualPort = address.port == (isSecure ? 443 : 80)
        // An IPv6 address keeps its brackets.
        let authority = isUsualPort ? "\(address)".dropLast("\(address.port)".utf8.count + 1) : "\(address)"[...]
        return "\(isSecure ? "https" : "http")://\(authority)\(path)"
    }

    private static func address(
        _ authority: Substring, port: UInt16, else wrong: SettingProblem
    ) throws(SettingProblem) -> HostAndPort {
        let hasPort = authority.last != "]" && authority.contains(":")
        guard let address = try? HostAndPort(parsing: hasPort ? String(authority) : "\(authority):\(port)"),
            // HostAndPort accepts an empty host, which means every interface: right for listening, wrong in a URL.
            !authority.hasPrefix(":"), !authority.isEmpty, address.port != 0,
            address.host.utf8.allSatisfy({ isHostByte($0) || ($0 == UInt8(ascii: ":") && authority.hasPrefix("[")) })
        else { throw wrong }
        return address
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
