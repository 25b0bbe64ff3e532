extension UInt8 {
    /// The value of an ASCII hexadecimal digit, in either case; `nil` for any other byte.
    @inlinable @inline(__always)
    public var hexDigitValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// The lower-case hexadecimal digit of a value below 16.
    @inlinable @inline(__always)
    var hexDigit: UInt8 {
        self < 10 ? UInt8(ascii: "0") + self : UInt8(ascii: "a") + (self - 10)
    }
}

extension String {
    /// The bytes as lower-case hexadecimal digits, two for each byte.
    @inlinable
    public init(hexadecimal bytes: some Collection<UInt8>) {
        self.init(unsafeUninitializedCapacity: 2 * bytes.count) { digits in
            var count = 0
            for byte in bytes {
                digits.initializeElement(at: count, to: (byte >> 4).hexDigit)
                digits.initializeElement(at: count + 1, to: (byte & 0xF).hexDigit)
                count += 2
            }
            return count
        }
    }
}
