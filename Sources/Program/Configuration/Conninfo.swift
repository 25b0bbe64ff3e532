import ChatterdBasics

/// The texts that describe a database to libpq: URLs and conninfo strings.
enum Conninfo {
    /// Whether a text looks like one of them. libpq checks the details at the first connection.
    static func isPlausible(_ text: String) -> Bool {
        text.hasPrefix("postgresql://") || text.hasPrefix("postgres://") || text.contains("=")
    }

    /// The passwords in a text, as written and percent-decoded.
    static func passwords(in conninfo: String) -> [String] {
        var found: [String] = []
        if let scheme = conninfo.firstRange(of: "://"), conninfo.hasPrefix("postgres") {
            let rest = conninfo[scheme.upperBound...]
            let authority = rest.prefix { $0 != "/" && $0 != "?" }
            if let at = authority.lastIndex(of: "@"), let colon = authority[..<at].firstIndex(of: ":") {
                found.append(String(authority[authority.index(after: colon)..<at]))
            }
        }
        // `password='a b'` in a conninfo string, `?password=…&` in a URL.
        for name in ["password", "sslpassword"] {
            var rest = conninfo[...]
            while let range = rest.firstRange(of: "\(name)=") {
                rest = rest[range.upperBound...]
                let isQuoted = rest.first == "'"
                let value = isQuoted ? rest.dropFirst().prefix { $0 != "'" } : rest.prefix { $0 != " " && $0 != "&" }
                found.append(String(value))
            }
        }
        found += found.map(\.percentDecoded).filter { !found.contains($0) }
        return found.filter { !$0.isEmpty }
    }
}

extension String {
    /// The text with the bytes of its percent escapes. Other percent signs stay.
    var percentDecoded: String {
        var bytes: [UInt8] = []
        var rest = utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let value = UInt8(Substring(rest.prefix(2)), radix: 16), rest.count >= 2 {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
