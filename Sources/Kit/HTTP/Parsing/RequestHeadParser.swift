/// Reads the head of a request, RFC 9112 sections 2 to 5, in pieces of any size.
///
/// One parser reads one head; it keeps the parsed parts and scans no byte twice.
public struct RequestHeadParser: Sendable {
    private let limits: HeadLimits
    private var scanner = LineScanner()
    private var section = FieldParser()
    private var start: (method: Method, target: Target, version: Version)?
    private var skippedLine = false

    /// Creates a parser for one head.
    public init(limits: HeadLimits = HeadLimits()) {
        self.limits = limits
    }

    /// The length of the head in bytes, its empty line included; valid once `parse` has returned the head.
    public var consumed: Int { scanner.lineStart }

    /// Continues to read; `unread` must begin with the first byte of this head at every call.
    ///
    /// Returns `nil` if more bytes are needed. After an error the connection cannot be read any further.
    public mutating func parse(_ unread: Span<UInt8>) throws(HTTPError) -> RequestHead? {
        while start == nil {
            guard
                let line = try scanner.next(
                    in: unread, lineLimit: limits.startLine, tooLong: .requestLineTooLong, headLimit: limits.total)
            else { return nil }
            if line.isEmpty, !skippedLine {
                // RFC 9112 2.2: one empty line before a request is ignored.
                skippedLine = true
            } else {
                start = try RequestHeadParser.parseStart(unread, in: line)
            }
        }
        guard let start, try section.parse(unread, scanner: &scanner, limits: limits) else { return nil }
        let head = RequestHead(
            method: start.method, target: start.target, version: start.version, fields: section.fields)
        try RequestHeadParser.checkHost(of: head)
        return head
    }

    /// The method, once its token is here, even if the rest of the head is refused; `nil` until then.
    ///
    /// `unread` must be the argument of the last `parse`.
    public func method(in unread: Span<UInt8>) -> Method? {
        if let start { return start.method }
        let begin = skippedLine ? 2 : 0
        var end = begin
        while end < unread.count, Grammar.isTokenByte(unread[end]) {
            end += 1
        }
        guard end > begin, end < unread.count, unread[end] == Grammar.space else { return nil }
        return Method(token: unread.text(begin..<end))
    }

    private static func parseStart(
        _ bytes: Span<UInt8>, in line: Range<Int>
    ) throws(HTTPError) -> (method: Method, target: Target, version: Version) {
        var methodEnd = line.lowerBound
        while methodEnd < line.upperBound, Grammar.isTokenByte(bytes[methodEnd]) {
            methodEnd += 1
        }
        guard methodEnd > line.lowerBound, methodEnd < line.upperBound, bytes[methodEnd] == Grammar.space,
            let targetEnd = bytes.firstIndex(of: Grammar.space, from: methodEnd + 1), targetEnd < line.upperBound
        else { throw HTTPError(.malformedRequestLine) }
        let version = try Version(bytes, in: (targetEnd + 1)..<line.upperBound, malformed: .malformedRequestLine)
        let method = Method(token: bytes.text(line.lowerBound..<methodEnd))
        let target = try Target(bytes, in: (methodEnd + 1)..<targetEnd, method: method)
        return (method, target, version)
    }

    /// RFC 9112 3.2: one valid Host; only HTTP/1.0 may leave it out.
    private static func checkHost(of head: RequestHead) throws(HTTPError) {
        guard let host = head.fields[.host] else {
            guard head.version == .http10 else { throw HTTPError(.missingHost) }
            return
        }
        guard head.fields.count(of: .host) == 1 else { throw HTTPError(.duplicateHost) }
        var text = host
        guard text.withUTF8({ Authority.isValid($0.span, in: 0..<$0.count) }) else { throw HTTPError(.malformedHost) }
    }
}
