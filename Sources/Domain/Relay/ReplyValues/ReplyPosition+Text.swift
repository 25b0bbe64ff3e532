import ChatterdBasics

// The id of an event: [attempt "~"] text ["." thinking ["." toolCalls]] ["-end"]. The first attempt is omitted, and so are trailing
// parts that are 0. A position has exactly one text, usually a number.
extension ReplyPosition {
    /// The maximum size of a valid text, in bytes.
    public static let longestText = 64

    /// Parses the text of a position; `nil` for any other text, even for other spellings of the same numbers.
    public init?(parsing text: Span<UInt8>) {
        guard text.count <= Self.longestText else { return nil }
        var reader = PositionReader(text: text)
        guard var first = reader.number() else { return nil }
        self.init()
        if reader.consume("~") {
            guard first > 1, first <= Self.largestAttempt, let second = reader.number() else { return nil }
            (attempt, first) = (first, second)
        }
        self.text = first
        if reader.consume(".") {
            guard let second = reader.number() else { return nil }
            thinking = second
            if reader.consume(".") {
                guard let third = reader.number(), third > 0 else { return nil }
                toolCalls = third
            } else if second == 0 {
                return nil
            }
        }
        isEnd = reader.consume("-end")
        guard reader.isAtEnd else { return nil }
    }

    /// Parses the text of a position; `nil` for any other text, even for other spellings of the same numbers.
    public init?(parsing text: some StringProtocol) {
        self.init(parsing: Array(text.utf8.prefix(Self.longestText + 1)).span)
    }

    /// The maximum attempt that fits into the database column.
    private static let largestAttempt = 999_999_999

    /// Appends the text of the position.
    public func append(to buffer: inout ByteBuffer) {
        if attempt != 1 {
            buffer.append(decimal: attempt)
            buffer.append("~")
        }
        buffer.append(decimal: text)
        if thinking != 0 || toolCalls != 0 {
            buffer.append(".")
            buffer.append(decimal: thinking)
        }
        if toolCalls != 0 {
            buffer.append(".")
            buffer.append(decimal: toolCalls)
        }
        if isEnd {
            buffer.append("-end")
        }
    }
}

/// Parses the text of a position.
private struct PositionReader: ~Escapable {
    private let text: Span<UInt8>
    private var index = 0

    @_lifetime(copy text)
    init(text: Span<UInt8>) {
        self.text = text
    }

    var isAtEnd: Bool { index == text.count }

    /// Consumes a number of at most fifteen digits, so that no sum of positions overflows; `nil` if there is none.
    mutating func number() -> Int? {
        let start = index
        var value = 0
        while index < text.count, case UInt8(ascii: "0")...UInt8(ascii: "9") = text[index] {
            value = value * 10 + Int(text[index] - UInt8(ascii: "0"))
            index += 1
            guard index - start <= 15 else { return nil }
        }
        guard index > start, index == start + 1 || text[start] != UInt8(ascii: "0") else { return nil }
        return value
    }

    /// Consumes a word if it is next. Returns whether it was.
    mutating func consume(_ word: StaticString) -> Bool {
        let expected = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
        guard text.count - index >= expected.count else { return false }
        for offset in expected.indices where text[index + offset] != expected[offset] { return false }
        index += expected.count
        return true
    }
}
