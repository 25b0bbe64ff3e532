import ChatterdBasics

/// The host part of a Host field, an origin or a setting, without its port.
///
/// Comparison ignores case and a dot at the end (RFC 3986 3.2.2).
public struct HostName: Sendable, Hashable {
    /// The name or address in lower case; an IPv6 address in its brackets.
    public let text: String

    /// Parses the host of `host[:port]`; `nil` if the text is malformed.
    public init?(authority: String) {
        let bytes = Array(authority.utf8)
        guard Authority.isValid(bytes.readable, in: 0..<bytes.count) else { return nil }
        var host = bytes.readable.lowercaseText(0..<Self.end(of: authority.utf8))
        if host.utf8.count > 1, host.utf8.last == UInt8(ascii: ".") {
            host.removeLast()
        }
        text = host
    }

    /// Parses a name or an address without a port; `nil` for any other text, for example `*.example`.
    public init?(_ host: String) {
        guard !host.utf8.contains(UInt8(ascii: "*")), let name = HostName(authority: host),
            Self.end(of: host.utf8) == host.utf8.count
        else { return nil }
        self = name
    }

    /// Whether the host of `host[:port]` is a numeric address or `localhost`. No name server can redirect these.
    ///
    /// The text must have passed the request parser.
    public static func isFixed(_ authority: String) -> Bool {
        guard authority.utf8.first != UInt8(ascii: "[") else { return true }
        let host = authority.utf8.prefix { $0 != UInt8(ascii: ":") }
        return isIPv4(host) || Grammar.equals(Substring(host), lowercase: "localhost")
    }

    /// The index of the end of the host, in bytes.
    private static func end(of authority: String.UTF8View) -> Int {
        let tail = authority.reversed().prefix { $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: "]") }
        let rest = authority.count - tail.count
        guard rest > 0 else { return authority.count }
        let mark = authority[authority.index(authority.startIndex, offsetBy: rest - 1)]
        return mark == UInt8(ascii: ":") ? rest - 1 : authority.count
    }

    /// Four decimal numbers up to 255, as browsers write each IPv4 address (URL Standard, host serializer).
    private static func isIPv4(_ host: Substring.UTF8View) -> Bool {
        var (parts, digits, number) = (0, 0, 0)
        for byte in host {
            if byte == UInt8(ascii: ".") {
                guard digits > 0 else { return false }
                (parts, digits, number) = (parts + 1, 0, 0)
            } else {
                guard Grammar.isDigit(byte), digits < 3 else { return false }
                number = number * 10 + Int(byte - UInt8(ascii: "0"))
                digits += 1
                guard number <= 255 else { return false }
            }
        }
        return parts == 3 && digits > 0
    }
}

extension HostName: CustomStringConvertible {
    /// The name or address.
    public var description: String { text }
}
