import ChatterdBasics

/// A line of a run that differs from the other ones in `created_at` and `message.content` alone.
public struct TokenLine: Sendable {
    // Small, so that the table of a run has a place on the stack.
    private let start: UInt32
    private let end: UInt32
    private let timeOffset: UInt32
    /// `message.content` in the line.
    let content: JSONString

    /// Creates a line from its range, and the ranges of its two strings, all in the bytes of the run.
    public init(_ range: Range<Int>, createdAt time: JSONString, content: JSONString) {
        let start = range.lowerBound
        self.start = UInt32(start)
        end = UInt32(range.upperBound)
        timeOffset = UInt32(time.range.upperBound &- start)
        self.content = JSONString(
            range: (content.range.lowerBound &- start)..<(content.range.upperBound &- start),
            hasEscapes: content.hasEscapes)
    }

    /// The line in the bytes of the run, without its line end.
    var range: Range<Int> { Range(uncheckedBounds: (Int(start), Int(end))) }

    /// The end of `created_at` in the line.
    var timeEnd: Int { Int(timeOffset) }

    /// The bytes of the line.
    public var count: Int { range.count }

    /// The inside of the string `message.content`, in the bytes of the run.
    @_lifetime(copy bytes)
    public func text(in bytes: Span<UInt8>) -> Span<UInt8> {
        bytes.extracting(
            (range.lowerBound &+ content.range.lowerBound)..<(range.lowerBound &+ content.range.upperBound))
    }

    /// The line in the bytes of its run, without its line end.
    @_lifetime(copy bytes)
    public func line(in bytes: Span<UInt8>) -> Span<UInt8> { bytes.extracting(range) }
}
