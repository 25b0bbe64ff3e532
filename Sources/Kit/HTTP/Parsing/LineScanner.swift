/// Finds the lines of a head byte by byte, so that the refusals do not depend on how the bytes arrive.
struct LineScanner {
    /// The index of the first byte of the incomplete line.
    private(set) var lineStart = 0
    /// The index up to which the bytes are scanned. The next scan continues here.
    private var looked = 0

    /// The next line without its CR LF; `nil` when its end has not arrived.
    mutating func next(
        in bytes: Span<UInt8>, lineLimit: Int, tooLong: HTTPError.Code, headLimit: Int
    ) throws(HTTPError) -> Range<Int>? {
        let bound = lineStart + min(lineLimit, headLimit - lineStart)
        let end = min(bytes.count, bound)
        var index = looked
        while index < end, Grammar.isTextByte(bytes[index]) {
            index += 1
        }
        looked = index
        guard index < bytes.count else { return nil }
        guard index < headLimit else { throw HTTPError(.headTooLarge) }
        let byte = bytes[index]
        guard byte == Grammar.carriageReturn else {
            if index == bound {
                throw HTTPError(tooLong)
            }
            throw HTTPError(byte == Grammar.lineFeed ? .bareLineFeed : .controlByte)
        }
        guard index + 1 < bytes.count else { return nil }
        guard index + 1 < headLimit else { throw HTTPError(.headTooLarge) }
        guard bytes[index + 1] == Grammar.lineFeed else { throw HTTPError(.bareCarriageReturn) }
        let line = lineStart..<index
        lineStart = index + 2
        looked = index + 2
        return line
    }
}
