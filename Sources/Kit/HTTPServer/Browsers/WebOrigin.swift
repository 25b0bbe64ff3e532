import ChatterdBasics
import ChatterdHTTP

/// The origin of a web page, as browsers write it in the Origin field: scheme, host and port (HTML Standard, "origin"; RFC 6454).
public struct WebOrigin: Sendable, Hashable {
    /// The scheme in lower case.
    public let scheme: String
    public let host: HostName
    /// The port; the scheme's default if the text has none, or `nil` if the scheme has no default.
    public let port: Int?

    /// Parses `scheme://host[:port]`; `nil` for any other text, such as `null`, which all pages with an opaque origin share.
    public init?(parsing text: String) {
        guard let end = text.firstRange(of: "://"),
            let scheme = Self.scheme(text[..<end.lowerBound])
        else { return nil }
        self.init(scheme: scheme, authority: String(text[end.upperBound...]))
    }

    /// Creates the origin of pages from `host[:port]`.
    init?(scheme: String, authority: String) {
        guard let host = HostName(authority: authority) else { return nil }
        self.scheme = scheme
        self.host = host
        let tail = authority.utf8.reversed().prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        let hasPort =
            authority.utf8.count > tail.count
            && authority.utf8[authority.utf8.index(authority.utf8.endIndex, offsetBy: -tail.count - 1)]
                == UInt8(ascii: ":")
        port = hasPort && !tail.isEmpty ? Int(String(authority.utf8.suffix(tail.count)) ?? "") : Self.port(of: scheme)
    }

    /// RFC 3986 3.1: a letter, then letters, digits and `+-.`.
    private static func scheme(_ text: Substring) -> String? {
        guard let first = text.utf8.first, UInt8(ascii: "a")...UInt8(ascii: "z") ~= first | 0x20 else { return nil }
        let isScheme = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        return isScheme ? text.lowercased() : nil
    }

    private static func port(of scheme: String) -> Int? {
        switch scheme {
        case "http": 80
        case "https": 443
        default: nil
        }
    }
}
