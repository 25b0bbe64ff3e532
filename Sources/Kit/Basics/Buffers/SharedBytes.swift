/// A range of the bytes of a buffer. Copies of the value share the storage of the buffer.
public struct SharedBytes: Sendable {
    private let buffer: ByteBuffer
    private let range: Range<Int>

    /// Shares a range of a buffer.
    public init(_ buffer: ByteBuffer, _ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= buffer.count, "the buffer has fewer bytes")
        self.buffer = buffer
        self.range = range
    }

    /// Shares a whole buffer.
    public init(_ buffer: ByteBuffer) {
        self.init(buffer, 0..<buffer.count)
    }

    /// The number of bytes.
    public var count: Int { range.count }

    public var bytes: Span<UInt8> {
        @_lifetime(borrow self)
        borrowing get {
            buffer.bytes.extracting(range)
        }
    }
}
