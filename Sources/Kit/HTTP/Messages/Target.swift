import ChatterdBasics

/// The target of a request, RFC 9112 section 3.2.
public struct Target: Sendable, Hashable {
    /// The accepted forms; authority-form belongs to CONNECT and is refused.
    public enum Form: Sendable, Hashable {
        /// `/path?query`
        case origin
        /// `http://host/path?query`
        case absolute
        /// `*`, the server as a whole, for OPTIONS.
        case asterisk
    }

    /// The form of the target as sent.
    public let form: Form
    /// The target as sent.
    public let text: String
    /// The path as sent, with its escapes; `*` in asterisk-form.
    public let rawPath: String
    /// The path with escapes decoded, for routing; an encoded slash stays `%2F`, as it separates no segments.
    public let path: String
    /// The text after the first question mark; `nil` if there is none.
    public let query: String?
    /// Host and port of absolute-form.
    public let authority: String?

    /// Creates a target from text, by the rules of the request parser.
    public init(_ text: String, for method: Method = .get) throws(HTTPError) {
        let bytes = Array(text.utf8)
        try self.init(bytes.readable, in: 0..<bytes.count, method: method)
    }

    init(_ bytes: Span<UInt8>, in range: Range<Int>, method: Method) throws(HTTPError) {
        guard method != .connect else { throw HTTPError(.connectRefused) }
        guard !range.isEmpty else { throw HTTPError(.malformedTarget) }
        text = bytes.text(range)
        switch bytes[range.lowerBound] {
        case UInt8(ascii: "*"):
            guard range.count == 1, method == .options else { throw HTTPError(.malformedTarget) }
            form = .asterisk
            authority = nil
            (rawPath, path, query) = ("*", "*", nil)
        case UInt8(ascii: "/"):
            form = .origin
            authority = nil
            (rawPath, path, query) = try Target.split(bytes, in: range)
        default:
            let host = try Target.absoluteAuthority(bytes, in: range)
            form = .absolute
            authority = bytes.text(host)
            (rawPath, path, query) = try Target.split(bytes, in: host.upperBound..<range.upperBound)
        }
    }

    /// RFC 9110 4.2: `http` or `https`, then an authority without user information (4.2.4).
    private static func absoluteAuthority(_ bytes: Span<UInt8>, in range: Range<Int>) throws(HTTPError) -> Range<Int> {
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":"), from: range.lowerBound), colon < range.upperBound,
            bytes.equals("://", in: colon..<min(colon + 3, range.upperBound))
        else { throw HTTPError(.malformedTarget) }
        let scheme = bytes.lowercaseText(range.lowerBound..<colon)
        guard scheme == "http" || scheme == "https" else { throw HTTPError(.malformedTarget) }
        var end = colon + 3
        while end < range.upperBound, bytes[end] != UInt8(ascii: "/"), bytes[end] != UInt8(ascii: "?") {
            end += 1
        }
        guard Authority.isValid(bytes, in: (colon + 3)..<end) else { throw HTTPError(.malformedTarget) }
        return (colon + 3)..<end
    }

    private static func split(
        _ bytes: Span<UInt8>, in range: Range<Int>
    ) throws(HTTPError) -> (rawPath: String, path: String, query: String?) {
        var pathEnd = range.lowerBound
        var isPlain = true
        while pathEnd < range.upperBound, bytes[pathEnd] != UInt8(ascii: "?") {
            let byte = bytes[pathEnd]
            switch byte {
            case UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: "@"):
                break
            case UInt8(ascii: "%"), UInt8(ascii: "."):
                isPlain = false
            default:
                guard Grammar.isNameByteOfURI(byte) else { throw HTTPError(.malformedTarget) }
            }
            pathEnd += 1
        }
        var query: String?
        if pathEnd < range.upperBound {
            for index in (pathEnd + 1)..<range.upperBound where !isQueryByte(bytes[index]) {
                throw HTTPError(.malformedTarget)
            }
            query = bytes.text((pathEnd + 1)..<range.upperBound)
        }
        // RFC 9110 4.2.3: an empty path is the same as "/".
        let raw = pathEnd == range.lowerBound ? "/" : bytes.text(range.lowerBound..<pathEnd)
        return (raw, isPlain ? raw : try PathDecoding.decode(raw), query)
    }

    /// The bytes that browsers leave unescaped in a query (URL Standard, query percent-encode set), more than in RFC 3986.
    private static func isQueryByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "#"), UInt8(ascii: "<"), UInt8(ascii: ">"): false
        case 0x21...0x7E: true
        default: false
        }
    }
}

extension Target: CustomStringConvertible {
    /// The target as sent.
    public var description: String { text }
}
