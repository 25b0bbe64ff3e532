/// Takes a body out of its framing, RFC 9112 sections 6 and 7, however its bytes arrive, without a copy.
public struct BodyDecoder: Sendable {
    private enum Mode: Sendable {
        /// So many bytes are still to come.
        case counted(Int)
        /// Chunks, read by a machine of their own.
        case chunked(ChunkScanner)
        /// Everything until the connection ends, with the number of bytes that may still come.
        case open(Int)
        /// The body is complete.
        case complete
    }

    private var mode: Mode

    /// Creates a decoder; a stated length over the limit is refused at once.
    public init(framing: BodyFraming, limits: BodyLimits = BodyLimits()) throws(HTTPError) {
        switch framing {
        case .none, .length(0):
            mode = .complete
        case .length(let length):
            guard length <= limits.body else { throw HTTPError(.bodyTooLarge) }
            mode = .counted(length)
        case .chunked:
            mode = .chunked(ChunkScanner(limits: limits))
        case .untilClose:
            mode = .open(limits.body)
        }
    }

    /// Whether the body is complete.
    public var isComplete: Bool {
        if case .complete = mode {
            return true
        }
        return false
    }

    /// Finds the next piece at or after `index`, and moves `index` after the used bytes.
    ///
    /// To be called until it returns `.more` or `.end`. After an error the connection cannot be read any further.
    public mutating func next(_ bytes: Span<UInt8>, from index: inout Int) throws(HTTPError) -> BodyPiece {
        switch mode {
        case .chunked(var scanner):
            defer { mode = scanner.isComplete ? .complete : .chunked(scanner) }
            return try scanner.next(bytes, from: &index)
        case .counted(let rest):
            guard index < bytes.count else { return .more }
            let piece = index..<(index + min(rest, bytes.count - index))
            index = piece.upperBound
            mode = piece.count == rest ? .complete : .counted(rest - piece.count)
            return .data(piece)
        case .open(let allowance):
            guard index < bytes.count else { return .more }
            let piece = index..<bytes.count
            guard piece.count <= allowance else { throw HTTPError(.bodyTooLarge) }
            index = piece.upperBound
            mode = .open(allowance - piece.count)
            return .data(piece)
        case .complete:
            return .end
        }
    }

    /// Tells that the connection has ended: fine when the body is complete, or runs until then.
    public mutating func endOfInput() throws(HTTPError) {
        switch mode {
        case .open, .complete: mode = .complete
        case .counted, .chunked: throw HTTPError(.truncated)
        }
    }
}
