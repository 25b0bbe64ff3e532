extension Span<UInt8> {
    /// The place of the first byte from `start` on that a JSON string cannot hold as it is: a quote, a backslash or
    /// a control character (RFC 8259, section 7); `count` if there is none.
    @inline(__always)
    func firstToEscape(from start: Int) -> Int {
        var index = start
        // Eight bytes at a time. A borrow may mark bytes above a hit, never below it, so the lowest mark is right.
        let ones: UInt64 = 0x0101_0101_0101_0101
        while index &+ 8 <= count {
            let word = UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self))
            let quotes = word ^ (ones &* 0x22)
            let backslashes = word ^ (ones &* 0x5C)
            let hits =
                ((quotes &- ones) & ~quotes) | ((backslashes &- ones) & ~backslashes)
                | ((word &- (ones &* 0x20)) & ~word)
            let marks = hits & (ones &* 0x80)
            if marks != 0 {
                return index &+ marks.trailingZeroBitCount >> 3
            }
            index &+= 8
        }
        while index < count {
            let byte = self[index]
            if byte < 0x20 || byte == 0x22 || byte == 0x5C { return index }
            index &+= 1
        }
        return index
    }

    /// The place of the first backslash from `start` on.
    fileprivate func firstBackslash(from start: Int) -> Int? {
        var index = firstToEscape(from: start)
        while index < count {
            if self[index] == UInt8(ascii: "\\") { return index }
            index = firstToEscape(from: index + 1)
        }
        return nil
    }
}

extension ByteBuffer {
    /// Appends text as a JSON string, quotes included.
    public mutating func append(jsonString text: String) {
        var text = text
        text.withUTF8 { append(jsonString: $0.span) }
    }

    /// Appends UTF-8 as a JSON string, quotes included.
    public mutating func append(jsonString text: Span<UInt8>) {
        append(UInt8(ascii: "\""))
        append(jsonEscaping: text)
        append(UInt8(ascii: "\""))
    }

    /// Appends UTF-8 as the inside of a JSON string: quotes, backslashes and control characters are escaped.
    public mutating func append(jsonEscaping text: Span<UInt8>) {
        var start = 0
        while true {
            let end = text.firstToEscape(from: start)
            if end > start {
                append(text.extracting(start..<end))
            }
            guard end < text.count else { return }
            append(escaped: text[end])
            start = end + 1
        }
    }

    private mutating func append(escaped byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): append("\\\"")
        case UInt8(ascii: "\\"): append("\\\\")
        case 0x08: append("\\b")
        case 0x09: append("\\t")
        case 0x0A: append("\\n")
        case 0x0C: append("\\f")
        case 0x0D: append("\\r")
        default:
            append("\\u00")
            append(byte < 0x10 ? UInt8(ascii: "0") : UInt8(ascii: "1"))
            let digit = byte & 0x0F
            append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }

    /// Appends what the inside of a JSON string stands for; NUL and halves of surrogate pairs become U+FFFD.
    ///
    /// The string must have passed a `JSONReader`; bytes that are not UTF-8 are copied as they are.
    public mutating func append(decodingJSON text: Span<UInt8>) {
        var start = 0
        while let backslash = text.firstBackslash(from: start) {
            append(text.extracting(start..<backslash))
            let escape = JSONEscape(in: text, at: backslash)
            append(escape.scalar)
            start = backslash + escape.length
        }
        append(text.extracting(start..<text.count))
    }

    private mutating func append(_ scalar: Unicode.Scalar) {
        for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter {
            append(byte)
        }
    }
}

extension String {
    /// What the inside of a JSON string stands for; NUL, halves of surrogate pairs and what is not UTF-8 become U+FFFD.
    public init(decodingJSON text: Span<UInt8>) {
        guard text.firstBackslash(from: 0) != nil else {
            self = text.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
            return
        }
        var buffer = ByteBuffer(capacity: text.count)
        buffer.append(decodingJSON: text)
        self = buffer.string
    }
}
