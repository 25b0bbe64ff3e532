/// Base64 with padding (RFC 4648, section 4).
extension ByteBuffer {
    /// Appends the Base64 of bytes.
    public mutating func append(base64 bytes: Span<UInt8>) {
        append(upTo: (bytes.count + 2) / 3 * 4) { output in
            var index = 0
            while index < bytes.count {
                let count = min(3, bytes.count - index)
                var bits: UInt32 = 0
                for offset in 0..<3 {
                    bits = bits << 8 | (offset < count ? UInt32(bytes[index + offset]) : 0)
                }
                for digit in 0..<4 {
                    output.append(
                        digit > count
                            ? UInt8(ascii: "=")
                            : Base64URL.standardDigit(UInt8(truncatingIfNeeded: bits >> (18 - 6 * digit)) & 63))
                }
                index += count
            }
        }
    }
}

extension Base64URL {
    /// The character of six bits in the alphabet of section 4, which has other characters for 62 and 63.
    fileprivate static func standardDigit(_ value: UInt8) -> UInt8 {
        switch value {
        case 62: UInt8(ascii: "+")
        case 63: UInt8(ascii: "/")
        default: digit(value)
        }
    }
}
