/// Base64 with the alphabet for URLs and file names, without padding (RFC 4648, section 5).
public enum Base64URL {
    /// The text of bytes.
    public static func encode(_ bytes: [UInt8]) -> String {
        var buffer = ByteBuffer()
        buffer.append(base64URL: bytes.readable)
        return buffer.string
    }

    /// The bytes of a text.
    ///
    /// - Returns: `nil` for a text that `encode` does not write: with padding, other characters, an impossible length, or bits after the
    ///   last byte that are not zero. So different texts have different bytes.
    public static func decode(_ text: [UInt8]) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3 + 2)
        var bits: UInt32 = 0
        var count = 0
        for character in text {
            guard let digit = value(of: character) else { return nil }
            bits = bits << 6 | UInt32(digit)
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> count))
            }
        }
        guard bits & (1 << count - 1) == 0 else { return nil }
        return bytes
    }

    /// The bytes of a text, as above.
    public static func decode(_ text: some StringProtocol) -> [UInt8]? {
        decode(Array(text.utf8))
    }

    /// The character of six bits.
    static func digit(_ value: UInt8) -> UInt8 {
        switch value {
        case 0..<26: UInt8(ascii: "A") + value
        case 26..<52: UInt8(ascii: "a") + value - 26
        case 52..<62: UInt8(ascii: "0") + value - 52
        case 62: UInt8(ascii: "-")
        default: UInt8(ascii: "_")
        }
    }

    private static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0") + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}

extension ByteBuffer {
    /// Appends the base64url text of bytes.
    public mutating func append(base64URL bytes: Span<UInt8>) {
        var bits: UInt32 = 0
        var count = 0
        for index in 0..<bytes.count {
            bits = bits << 8 | UInt32(bytes[index])
            count += 8
            while count >= 6 {
                count -= 6
                append(Base64URL.digit(UInt8(bits >> count & 0x3F)))
            }
        }
        if count > 0 {
            append(Base64URL.digit(UInt8(bits << (6 - count) & 0x3F)))
        }
    }
}
