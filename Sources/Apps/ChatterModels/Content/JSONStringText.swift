/// The inside of a JSON string that arrives byte by byte (RFC 8259, section 7).
struct JSONStringText: Sendable {
    /// The text in UTF-8, without an escape or a character that is not complete.
    private var bytes: [UInt8] = []
    /// The bytes of a character that has begun.
    private var character: [UInt8] = []
    /// The bytes of an escape that has begun, without its backslash.
    private var escape: [UInt8]?
    /// The first half of a surrogate pair.
    private var highSurrogate: UInt32?

    /// The text so far.
    var decoded: String { String(decoding: bytes, as: UTF8.self) }

    /// Returns the text, and begins the next string.
    mutating func takeText() -> String {
        let text = decoded
        self = JSONStringText()
        return text
    }

    /// Reads a byte. Returns whether it is the quote at the end.
    mutating func receive(_ byte: UInt8, at offset: Int) throws(JSONFault) -> Bool {
        if escape != nil {
            try readEscape(byte, at: offset)
            return false
        }
        if !character.isEmpty {
            try continueCharacter(byte, at: offset)
            return false
        }
        // Half of a pair that nothing follows stands for no character.
        if highSurrogate != nil, byte != UInt8(ascii: "\\") {
            highSurrogate = nil
            append("\u{FFFD}")
        }
        switch byte {
        case UInt8(ascii: "\""): return true
        case UInt8(ascii: "\\"): escape = []
        case ..<0x20: throw JSONFault(code: .controlCharacter, offset: offset)
        case ..<0x80: bytes.append(byte)
        case 0xC2...0xF4: character = [byte]
        default: throw JSONFault(code: .invalidUTF8, offset: offset)
        }
        return false
    }

    private mutating func continueCharacter(_ byte: UInt8, at offset: Int) throws(JSONFault) {
        character.append(byte)
        let length = character[0] < 0xE0 ? 2 : character[0] < 0xF0 ? 3 : 4
        guard byte & 0xC0 == 0x80 else { throw JSONFault(code: .invalidUTF8, offset: offset) }
        guard character.count == length else { return }
        // Decoding repairs what is not UTF-8, and keeps everything else.
        guard String(decoding: character, as: UTF8.self).utf8.elementsEqual(character) else {
            throw JSONFault(code: .invalidUTF8, offset: offset)
        }
        bytes += character
        character = []
    }

    private mutating func readEscape(_ byte: UInt8, at offset: Int) throws(JSONFault) {
        guard var begun = escape else { return }
        begun.append(byte)
        guard begun[0] == UInt8(ascii: "u") else {
            escape = nil
            dropHighSurrogate()
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): bytes.append(byte)
            case UInt8(ascii: "b"): append("\u{8}")
            case UInt8(ascii: "f"): append("\u{C}")
            case UInt8(ascii: "n"): append("\n")
            case UInt8(ascii: "r"): append("\r")
            case UInt8(ascii: "t"): append("\t")
            default: throw JSONFault(code: .invalidEscape, offset: offset)
            }
            return
        }
        guard begun.count == 1 || Character(Unicode.Scalar(byte)).isHexDigit else {
            throw JSONFault(code: .invalidEscape, offset: offset)
        }
        escape = begun
        guard begun.count == 5 else { return }
        escape = nil
        endUnicodeEscape(UInt32(String(decoding: begun.dropFirst(), as: UTF8.self), radix: 16) ?? 0xFFFD)
    }

    private mutating func endUnicodeEscape(_ unit: UInt32) {
        if let high = highSurrogate, unit & 0xFC00 == 0xDC00 {
            highSurrogate = nil
            append(Unicode.Scalar(0x10000 + (high & 0x3FF) << 10 + unit & 0x3FF) ?? "\u{FFFD}")
            return
        }
        dropHighSurrogate()
        if unit & 0xFC00 == 0xD800 {
            highSurrogate = unit
        } else {
            append(Unicode.Scalar(unit) ?? "\u{FFFD}")
        }
    }

    private mutating func dropHighSurrogate() {
        if highSurrogate != nil {
            highSurrogate = nil
            append("\u{FFFD}")
        }
    }

    private mutating func append(_ scalar: Unicode.Scalar) {
        bytes += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
    }
}
