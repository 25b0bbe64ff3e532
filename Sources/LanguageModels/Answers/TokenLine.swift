import ChatterdBasics

/// A line of a run that differs from the other ones in `created_at` and `message.content` alone.
public struct TokenLine: Sendable {
    /// The line in the bytes of the run, without its line end.
    let range: Range<Int>
    /// The end of `created_at` in the line.
    let timeEnd: Int
    /// `message.content` in the line.
    let content: JSONString

    /// Creates a line from its range, and the ranges of its two strings, all in the bytes of the run.
    public init(_ range: Range<Int>, createdAt time: JSONString, content: JSONString) {
        let start = range.lowerBound
        self.range = range
        timeEnd = time.range.upperBound &- start
        self.content = JSONString(
            range: (content.range.lowerBound &- start)..<(content.range.upperBound &- start),
            hasEscapes: content.hasEscapes)
    }

    /// The bytes of the line.
    public var count: Int { range.count }

    /// The line in the bytes of its run, without its line end.
    @_lifetime(copy bytes)
    public func line(in bytes: Span<UInt8>) -> Span<UInt8> { bytes.extracting(range) }
}
