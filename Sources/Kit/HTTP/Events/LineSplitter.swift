import ChatterdBasics

/// Splits bytes at LF, as NDJSON needs it, in pieces of any size. A line within one piece is not copied.
public struct LineSplitter: Sendable {
    /// The result of a search.
    public enum Step: Sendable, Hashable {
        /// A line, as a range of the given bytes, without its line end.
        case line(Range<Int>)
        /// A line that began in earlier bytes; `carriedLine` has it until the next call.
        case carriedLine
        /// All bytes are used.
        case more
        /// The line exceeds the limit. No further line can be read.
        case tooLong
    }

    /// Whether a consumer wants the next line.
    public enum Flow: Sendable, Hashable {
        /// It wants the next line.
        case more
        /// It wants no line for now.
        case stop
    }

    /// How a run over bytes ended.
    public enum Outcome: Sendable, Hashable {
        /// All bytes are used.
        case drained
        /// The consumer stopped; the index is after its last line.
        case stopped
        /// The line exceeds the limit. No further line can be read.
        case tooLong
    }

    private let limit: Int
    private var carry: [UInt8] = []
    private var carriesWholeLine = false
    private var failed = false

    /// Creates a splitter for lines of at most `limit` bytes, without their LF.
    public init(limit: Int) {
        self.limit = limit
    }

    /// The number of stored bytes of an unfinished line.
    public var carriedCount: Int { carriesWholeLine ? 0 : carry.count }

    /// The line that `next` reported as carried, or the unfinished one; one CR at its end is left out.
    public var carriedLine: Span<UInt8> {
        @_lifetime(borrow self)
        borrowing get {
            let count = carry.last == Grammar.carriageReturn ? carry.count - 1 : carry.count
            return carry.readable.extracting(0..<count)
        }
    }

    /// Finds the next line at or after `index`, and moves `index` past it.
    public mutating func next(_ bytes: Span<UInt8>, from index: inout Int) -> Step {
        if carriesWholeLine {
            dropCarry()
        }
        guard !failed else { return .tooLong }
        guard index < bytes.count else { return .more }
        let end = bytes.firstIndex(of: Grammar.lineFeed, from: index)
        let piece = index..<(end ?? bytes.count)
        guard piece.count <= limit - carry.count else {
            failed = true
            dropCarry()
            return .tooLong
        }
        index = end.map { $0 + 1 } ?? bytes.count
        guard end != nil, carry.isEmpty else {
            bytes.extracting(piece).withUnsafeBufferPointer { carry.append(contentsOf: $0) }
            carriesWholeLine = end != nil
            return carriesWholeLine ? .carriedLine : .more
        }
        let hasReturn = !piece.isEmpty && bytes[piece.upperBound - 1] == Grammar.carriageReturn
        return .line(piece.lowerBound..<(hasReturn ? piece.upperBound - 1 : piece.upperBound))
    }

    /// Discards an unfinished line, and its storage if that is large.
    public mutating func dropCarry() {
        if carry.capacity > 4096 {
            carry = []
        } else {
            carry.removeAll(keepingCapacity: true)
        }
        carriesWholeLine = false
    }
}

extension LineSplitter {
    /// Passes each line to `body` until it stops, it throws, or all bytes are used; `index` moves past the used bytes.
    @inlinable
    public mutating func feed<Failure: Error>(
        _ bytes: Span<UInt8>, from index: inout Int, _ body: (Span<UInt8>) throws(Failure) -> Flow
    ) throws(Failure) -> Outcome {
        while true {
            let flow: Flow
            switch next(bytes, from: &index) {
            case .line(let range): flow = try body(bytes.extracting(range))
            case .carriedLine: flow = try body(carriedLine)
            case .more: return .drained
            case .tooLong: return .tooLong
            }
            if flow == .stop {
                return .stopped
            }
        }
    }

    /// Passes the last line to `body` if it has no line end.
    @inlinable
    public mutating func finish<Failure: Error>(_ body: (Span<UInt8>) throws(Failure) -> Void) throws(Failure) {
        guard carriedCount > 0 else { return }
        defer { dropCarry() }
        try body(carriedLine)
    }
}
