/// One escape of a JSON string, or the two escapes of a surrogate pair (RFC 8259, section 7).
struct JSONEscape {
    /// The escaped character; U+FFFD for NUL and for half of a pair.
    let scalar: Unicode.Scalar

    /// The number of bytes of the escape, including the backslash.
    let length: Int

    /// Whether the escape is NUL or half of a pair, which a text column cannot store.
    let isUnstorable: Bool

    /// Reads the escape whose backslash is at `index`.
    ///
    /// Invalid escapes become U+FFFD; `JSONReader` has refused them before.
    init(in bytes: Span<UInt8>, at index: Int) {
        guard index + 1 < bytes.count else {
            self.init("\u{FFFD}", 1)
            return
        }
        switch bytes[index + 1] {
        case UInt8(ascii: "b"): self.init("\u{8}", 2)
        case UInt8(ascii: "f"): self.init("\u{C}", 2)
        case UInt8(ascii: "n"): self.init("\n", 2)
        case UInt8(ascii: "r"): self.init("\r", 2)
        case UInt8(ascii: "t"): self.init("\t", 2)
        case UInt8(ascii: "u"): self.init(unicodeIn: bytes, at: index)
        case let byte: self.init(byte < 0x80 ? Unicode.Scalar(byte) : "\u{FFFD}", 2)
        }
    }

    private init(_ scalar: Unicode.Scalar, _ length: Int, isUnstorable: Bool = false) {
        self.scalar = scalar
        self.length = length
        self.isUnstorable = isUnstorable
    }

    private init(unicodeIn bytes: Span<UInt8>, at index: Int) {
        guard let unit = Self.unit(in: bytes, at: index) else {
            self.init("\u{FFFD}", 2, isUnstorable: true)
            return
        }
        if unit & 0xFC00 == 0xD800, let low = Self.unit(in: bytes, at: index + 6), low & 0xFC00 == 0xDC00,
            let scalar = Unicode.Scalar(0x10000 + (unit & 0x3FF) << 10 + low & 0x3FF)
        {
            self.init(scalar, 12)
            return
        }
        guard unit != 0, let scalar = Unicode.Scalar(unit) else {
            self.init("\u{FFFD}", 6, isUnstorable: true)
            return
        }
        self.init(scalar, 6)
    }

    /// The number written as `\uXXXX` at `index`; `nil` for any other bytes.
    private static func unit(in bytes: Span<UInt8>, at index: Int) -> UInt32? {
        guard index + 6 <= bytes.count, bytes[index] == UInt8(ascii: "\\"), bytes[index + 1] == UInt8(ascii: "u") else {
            return nil
        }
        var value: UInt32 = 0
        for position in index + 2..<index + 6 {
            guard let digit = bytes[position].hexDigitValue else { return nil }
            value = value << 4 | UInt32(digit)
        }
        return value
    }
}
