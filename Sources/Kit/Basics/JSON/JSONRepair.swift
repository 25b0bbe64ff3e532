extension ByteBuffer {
    /// Appends a JSON text in a form that a line and a text column can store.
    ///
    /// Bytes that are not UTF-8, `\u0000` and halves of surrogate pairs become U+FFFD; line ends in white space become
    /// spaces. The text must be valid for a `JSONReader`; the result is too.
    public mutating func append(repairingJSON text: Span<UInt8>) {
        var copied = 0
        var index = 0
        var inString = false
        while index < text.count {
            var length = 1
            var replacement: StaticString?
            switch text[index] {
            case UInt8(ascii: "\""):
                inString.toggle()
            case UInt8(ascii: "\\") where inString:
                let escape = JSONEscape(in: text, at: index)
                length = escape.length
                if escape.isUnstorable { replacement = "\\ufffd" }
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
                if !inString { replacement = " " }
            case 0x80...:
                length = UTF8Repair.sequenceLength(in: text, at: index)
                if length < 0 {
                    length = -length
                    replacement = "\u{FFFD}"
                }
            default:
                break
            }
            if let replacement {
                append(text.extracting(copied..<index))
                append(replacement)
                copied = index + length
            }
            index += length
        }
        append(text.extracting(copied..<text.count))
    }
}
