import ChatterdBasics

/// Removes the framing of a body, RFC 9112 sections 6 and 7, from pieces of any size, without a copy.
public struct BodyDecoder: Sendable {
    private enum Mode: Sendable {
        /// The number of bytes still to come.
        case counted(Int)
        /// Chunks, read by a state machine.
        case chunked(ChunkScanner)
        /// All bytes until the connection ends, with the limit of those still to come.
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
    /// Call it until it returns `.more` or `.end`. After an error the connection cannot be read any further.
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

    /// Appends the data of all further pieces to a buffer, and moves `index` after the used bytes. After an error the buffer has the data
    /// before it.
    ///
    /// - Returns: whether the body is complete.
    public mutating func copyData(
        of bytes: Span<UInt8>, from index: inout Int, to buffer: inout ByteBuffer
    ) throws(HTTPError) -> Bool {
        var fault: HTTPError?
        buffer.append(upTo: bytes.count - index) { output in
            do throws(HTTPError) {
                if case .chunked(var scanner) = mode {
                    defer { mode = scanner.isComplete ? .complete : .chunked(scanner) }
                    // The usual case: the scanner stays where it is for all chunks of a read.
                    while case .data(let range) = try scanner.next(bytes, from: &index) {
                        output.append(copying: bytes.extracting(range))
                    }
                }
                while case .data(let range) = try next(bytes, from: &index) {
                    output.append(copying: bytes.extracting(range))
                }
            } catch {
                fault = error
            }
        }
        if let fault { throw fault }
        return isComplete
    }

    /// Handles the end of the connection. Throws unless the body is complete, or ends with the connection.
    public mutating func endOfInput() throws(HTTPError) {
        switch mode {
        case .open, .complete: mode = .complete
        case .counted, .chunked: throw HTTPError(.truncated)
        }
    }
}

/// The result of a step of a body decoder.
public enum BodyPiece: Sendable, Hashable {
    /// Data of the body, at least one byte, at a range of the bytes given.
    case data(Range<Int>)
    /// All bytes are used, and the body continues.
    case more
    /// The body is complete. Further bytes belong to the next message.
    case end
}
