import ChatterdBasics

/// The state machine of the chunked coding, RFC 9112 section 7.1. It applies the grammar strictly.
struct ChunkScanner: Sendable {
    private enum State: Sendable {
        /// A chunk begins: its first hexadecimal digit must follow.
        case sizeStart
        /// In the digits.
        case size
        /// White space before a `;` that must follow.
        case beforeSemicolon
        /// After `;`: white space, then the extension's name.
        case nameStart
        /// In the name.
        case name
        /// White space after the name: `=` or `;` must follow.
        case afterName
        /// After `=`: white space, then a token or a quoted string.
        case valueStart
        /// In a token.
        case value
        /// In a quoted string.
        case quoted
        /// After a backslash in a quoted string.
        case quotedPair
        /// After a quoted string.
        case afterQuoted
        /// The LF of the size line must follow.
        case sizeLineFeed
        /// In the data.
        case data
        /// The CR after the data must follow.
        case dataReturn
        /// The LF after the data must follow.
        case dataLineFeed
        /// A trailer field or the last CR must follow.
        case trailerStart
        /// In a trailer field's name.
        case trailerName
        /// In a trailer field's value.
        case trailerValue
        /// The LF of a trailer field must follow.
        case trailerLineFeed
        /// The last LF must follow.
        case lastLineFeed
        /// The body is complete.
        case complete
    }

    private var state = State.sizeStart
    /// The size while it is read, then the bytes of the chunk still to come.
    private var rest = 0
    /// Bytes of the size line so far.
    private var lineBytes = 0
    private var trailerBytes = 0
    private var dataBytes = 0
    private var overhead = 0
    private let limits: BodyLimits

    init(limits: BodyLimits) {
        self.limits = limits
    }

    var isComplete: Bool { state == .complete }

    mutating func next(_ bytes: Span<UInt8>, from index: inout Int) throws(HTTPError) -> BodyPiece {
        while index < bytes.count {
            if state == .data {
                return .data(data(in: bytes, from: &index))
            }
            if try readPlainSize(bytes, from: &index) {
                continue
            }
            let byte = bytes[index]
            index += 1
            overhead += 1
            switch state {
            case .sizeStart, .size:
                try readSize(byte)
            case .sizeLineFeed:
                try endSizeLine(byte)
            case .data:
                break
            case .dataReturn:
                try expect(byte, is: Grammar.carriageReturn, .malformedChunkEnd, then: .dataLineFeed)
            case .dataLineFeed:
                try expect(byte, is: Grammar.lineFeed, .malformedChunkEnd, then: .sizeStart)
            case .beforeSemicolon, .nameStart, .name, .afterName, .valueStart, .value, .quoted, .quotedPair,
                .afterQuoted:
                if byte != Grammar.carriageReturn {
                    try countLineByte()
                }
                try readExtension(byte)
            case .trailerStart, .trailerName, .trailerValue, .trailerLineFeed:
                try readTrailer(byte)
            case .lastLineFeed:
                try expect(byte, is: Grammar.lineFeed, .malformedTrailer, then: .complete)
                return .end
            case .complete:
                return .end
            }
        }
        return state == .complete ? .end : .more
    }

    /// The greatest number of digits of a size that `readPlainSize` reads: sizes below 16 MiB.
    private static let plainDigits = 6

    /// Reads the end of the chunk before and a size without an extension, if all of both is here. Otherwise `next` reads byte by byte. A
    /// model server sends a chunk for each token.
    ///
    /// - Returns: `false` if nothing was read.
    private mutating func readPlainSize(_ bytes: Span<UInt8>, from index: inout Int) throws(HTTPError) -> Bool {
        var position = index
        if state == .dataReturn {
            guard bytes.isLineEnd(at: position) else { return false }
            position += 2
        } else if state != .sizeStart {
            return false
        }
        let start = position
        var size = 0
        while position < bytes.count, let digit = bytes[position].hexDigitValue {
            size = size << 4 | Int(digit)
            position += 1
            guard position - start <= min(Self.plainDigits, limits.chunkLine) else { return false }
        }
        guard size > 0, bytes.isLineEnd(at: position) else { return false }
        position += 2
        overhead += position - index
        index = position
        rest = size
        try endSizeLine()
        return true
    }

    /// The data of the current chunk that has arrived, as a range of `bytes`.
    private mutating func data(in bytes: Span<UInt8>, from index: inout Int) -> Range<Int> {
        let piece = index..<(index + min(rest, bytes.count - index))
        index = piece.upperBound
        rest -= piece.count
        dataBytes += piece.count
        if rest == 0 {
            state = .dataReturn
        }
        return piece
    }

    private mutating func expect(
        _ byte: UInt8, is expected: UInt8, _ code: HTTPError.Code, then next: State
    ) throws(HTTPError) {
        guard byte == expected else { throw HTTPError(code) }
        state = next
    }

    private mutating func countLineByte() throws(HTTPError) {
        lineBytes += 1
        guard lineBytes <= limits.chunkLine else { throw HTTPError(.chunkOverhead) }
    }

    private mutating func readSize(_ byte: UInt8) throws(HTTPError) {
        if let digit = byte.hexDigitValue {
            try countLineByte()
            guard lineBytes <= 16, rest <= Int.max >> 4 else { throw HTTPError(.malformedChunkSize) }
            rest = rest << 4 | Int(digit)
            state = .size
            return
        }
        guard state == .size else { throw HTTPError(.malformedChunkSize) }
        switch byte {
        case Grammar.carriageReturn:
            state = .sizeLineFeed
        case UInt8(ascii: ";"):
            try countLineByte()
            state = .nameStart
        case Grammar.space, Grammar.tab:
            try countLineByte()
            state = .beforeSemicolon
        default:
            throw HTTPError(.malformedChunkSize)
        }
    }

    private mutating func endSizeLine(_ byte: UInt8) throws(HTTPError) {
        guard byte == Grammar.lineFeed else { throw HTTPError(.malformedChunkSize) }
        try endSizeLine()
    }

    private mutating func endSizeLine() throws(HTTPError) {
        guard rest <= limits.body - dataBytes else { throw HTTPError(.bodyTooLarge) }
        // A chunk of one byte costs five bytes of framing, so an honest sender stays below eight.
        if overhead > limits.chunkOverhead, (overhead - limits.chunkOverhead) / 8 > dataBytes {
            throw HTTPError(.chunkOverhead)
        }
        state = rest == 0 ? .trailerStart : .data
        lineBytes = 0
    }

    /// `*( BWS ";" BWS chunk-ext-name [ BWS "=" BWS chunk-ext-val ] )`, RFC 9112 7.1.1.
    private mutating func readExtension(_ byte: UInt8) throws(HTTPError) {
        switch (state, byte) {
        case (.quoted, UInt8(ascii: "\"")): state = .afterQuoted
        case (.quoted, UInt8(ascii: "\\")): state = .quotedPair
        case (.quoted, _) where Grammar.isTextByte(byte): break
        case (.quotedPair, _) where Grammar.isTextByte(byte): state = .quoted
        case (.quoted, _), (.quotedPair, _): throw HTTPError(.malformedChunkExtension)

        case (.nameStart, _) where Grammar.isBlank(byte), (.valueStart, _) where Grammar.isBlank(byte): break
        case (.afterName, _) where Grammar.isBlank(byte), (.beforeSemicolon, _) where Grammar.isBlank(byte): break
        case (.name, _) where Grammar.isBlank(byte): state = .afterName
        case (.value, _) where Grammar.isBlank(byte), (.afterQuoted, _) where Grammar.isBlank(byte):
            state = .beforeSemicolon

        case (.nameStart, _) where Grammar.isTokenByte(byte): state = .name
        case (.name, _) where Grammar.isTokenByte(byte), (.value, _) where Grammar.isTokenByte(byte): break
        case (.valueStart, _) where Grammar.isTokenByte(byte): state = .value
        case (.valueStart, UInt8(ascii: "\"")): state = .quoted

        case (.name, UInt8(ascii: "=")), (.afterName, UInt8(ascii: "=")): state = .valueStart
        case (.name, UInt8(ascii: ";")), (.afterName, UInt8(ascii: ";")), (.beforeSemicolon, UInt8(ascii: ";")),
            (.value, UInt8(ascii: ";")), (.afterQuoted, UInt8(ascii: ";")):
            state = .nameStart
        case (.name, Grammar.carriageReturn), (.value, Grammar.carriageReturn),
            (.afterQuoted, Grammar.carriageReturn):
            state = .sizeLineFeed
        default:
            throw HTTPError(.malformedChunkExtension)
        }
    }

    /// Trailer fields are checked and dropped, RFC 9112 7.1.2.
    private mutating func readTrailer(_ byte: UInt8) throws(HTTPError) {
        if state == .trailerStart, byte == Grammar.carriageReturn {
            state = .lastLineFeed
            return
        }
        trailerBytes += 1
        guard trailerBytes <= limits.trailers else { throw HTTPError(.trailerTooLarge) }
        switch state {
        case .trailerStart where Grammar.isTokenByte(byte): state = .trailerName
        case .trailerName where Grammar.isTokenByte(byte): break
        case .trailerName where byte == UInt8(ascii: ":"): state = .trailerValue
        case .trailerValue where Grammar.isTextByte(byte): break
        case .trailerValue where byte == Grammar.carriageReturn: state = .trailerLineFeed
        case .trailerLineFeed where byte == Grammar.lineFeed: state = .trailerStart
        default: throw HTTPError(.malformedTrailer)
        }
    }
}

extension Span<UInt8> {
    /// Whether CR LF is at an index.
    fileprivate func isLineEnd(at index: Int) -> Bool {
        index + 1 < count && self[index] == Grammar.carriageReturn && self[index + 1] == Grammar.lineFeed
    }
}
