/// The protocol version of a message, RFC 9112 section 2.3.
public enum Version: Sendable, Hashable {
    /// HTTP/1.0: no chunks, no persistence unless asked for.
    case http10
    /// HTTP/1.1.
    case http11

    /// Reads `HTTP/1.0` or `HTTP/1.1`; another version that is well-formed is unsupported, anything else malformed.
    init(_ bytes: Span<UInt8>, in range: Range<Int>, malformed: HTTPError.Code) throws(HTTPError) {
        let at = range.lowerBound
        guard range.count == 8, bytes.equals("HTTP/", in: at..<(at + 5)), Grammar.isDigit(bytes[at + 5]),
            bytes[at + 6] == UInt8(ascii: "."), Grammar.isDigit(bytes[at + 7])
        else { throw HTTPError(malformed) }
        switch (bytes[at + 5], bytes[at + 7]) {
        case (UInt8(ascii: "1"), UInt8(ascii: "1")): self = .http11
        case (UInt8(ascii: "1"), UInt8(ascii: "0")): self = .http10
        default: throw HTTPError(.unsupportedVersion)
        }
    }
}
