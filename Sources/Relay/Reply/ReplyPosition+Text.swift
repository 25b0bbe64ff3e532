import ChatterdBasics

// As the id of an event: [attempt "~"] text ["." thinking ["." toolCalls]] ["-end"]. The attempt is left out when it is the
// first, the parts behind the text as far as all from there on are empty. So a position has one text, most often a number.
extension ReplyPosition {
    /// The longest text that is read, in bytes.
    public static let longestText = 64

    /// Reads a position from its text; nothing for any other text, however close.
    public init?(parsing text: Span<UInt8>) {
        guard text.count <= Self.longestText else { return nil }
        var reader = PositionReader(text: text)
        guard var first = reader.number() else { return nil }
        self.init()
        if reader.pass("~") {
            guard first > 1, first <= Self.largestAttempt, let second = reader.number() else { return nil }
            (attempt, first) = (first, second)
        }
        self.text = first
        if reader.pass(".") {
            guard let second = reader.number() else { return nil }
            thinking = second
            if reader.pass(".") {
                guard let third = reader.number(), third > 0 else { return nil }
                toolCalls = third
            } else if second == 0 {
                return nil
            }
        }
        isEnd = reader.pass("-end")
        guard reader.isAtEnd else { return nil }
    }

    /// Reads a position from its text; nothing for any other text, however close.
    public init?(parsing text: some StringProtocol) {
        self.init(parsing: Array(text.utf8.prefix(Self.longestText + 1)).span)
    }

    /// What fits the column of the attempt.
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

/// Goes over the text of a position.
private struct PositionReader: ~Escapable {
    private let text: Span<UInt8>
    private var index = 0

    @_lifetime(copy text)
    init(text: Span<UInt8>) {
        self.text = text
    }

    var isAtEnd: Bool { index == text.count }

    /// Passes a number of at most fifteen digits, so that no sum of positions overflows; nothing where there is none.
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

    /// Passes a word if it comes next.
    mutating func pass(_ word: StaticString) -> Bool {
        let expected = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
        guard text.count - index >= expected.count else { return false }
        for offset in expected.indices where text[index + offset] != expected[offset] { return false }
        index += expected.count
        return true
    }
}
