/// Reads the head of a response, RFC 9112 sections 4 and 5, in pieces of any size.
///
/// One parser reads one head, interim ones (1xx) included; it keeps the parsed parts and scans no byte twice.
public struct ResponseHeadParser: Sendable {
    private let limits: HeadLimits
    private var scanner = LineScanner()
    private var section = FieldParser()
    private var start: (version: Version, status: Status)?

    /// Creates a parser for one head.
    public init(limits: HeadLimits = HeadLimits()) {
        self.limits = limits
    }

    /// The length of the head in bytes, its empty line included; valid once `parse` has returned the head.
    public var consumed: Int { scanner.lineStart }

    /// Continues to read; `unread` must begin with the first byte of this head at every call.
    ///
    /// Returns `nil` if more bytes are needed. After an error the connection cannot be read any further.
    public mutating func parse(_ unread: Span<UInt8>) throws(HTTPError) -> ResponseHead? {
        if start == nil {
            guard
                let line = try scanner.next(
                    in: unread, lineLimit: limits.startLine, tooLong: .headTooLarge, headLimit: limits.total)
            else { return nil }
            start = try ResponseHeadParser.parseStart(unread, in: line)
        }
        guard let start, try section.parse(unread, scanner: &scanner, limits: limits) else { return nil }
        return ResponseHead(status: start.status, version: start.version, fields: section.fields)
    }

    /// `HTTP-version SP status-code SP [ reason-phrase ]`; some servers leave the last space out with the reason.
    private static func parseStart(
        _ bytes: Span<UInt8>, in line: Range<Int>
    ) throws(HTTPError) -> (version: Version, status: Status) {
        let code = line.lowerBound + 9
        guard line.count >= 12, bytes[code - 1] == Grammar.space else { throw HTTPError(.malformedStatusLine) }
        let version = try Version(bytes, in: line.lowerBound..<(code - 1), malformed: .malformedStatusLine)
        var value = 0
        for index in code..<(code + 3) {
            guard Grammar.isDigit(bytes[index]) else { throw HTTPError(.malformedStatusLine) }
            value = value * 10 + Int(bytes[index] - UInt8(ascii: "0"))
        }
        guard let status = Status(value), line.count == 12 || bytes[code + 3] == Grammar.space else {
            throw HTTPError(.malformedStatusLine)
        }
        return (version, status)
    }
}
