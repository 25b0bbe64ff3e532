extension JSONSlice {
    /// A whole number in any spelling, such as `4096`, `4096.0` and `4.096e3`; `nil` for another value, for a number with a fraction, and
    /// for one that an integer cannot hold.
    ///
    /// RFC 8259 6 does not tell spellings apart, and some clients send all numbers with a point. The time is linear in the text, also for an
    /// exponent of many digits.
    public var wholeNumber: Int? {
        guard kind == .number else { return nil }
        let text = bytes
        let isNegative = text.first == UInt8(ascii: "-")
        let magnitude = text.dropFirst(isNegative ? 1 : 0)
        let mantissa = magnitude.prefix { $0 | 0x20 != UInt8(ascii: "e") }
        let fraction = mantissa.drop { $0 != UInt8(ascii: ".") }.dropFirst()
        // The number is that of its digits, without leading and trailing zeros, times a power of ten.
        var digits: ArraySlice<UInt8> = mantissa.filter { $0 != UInt8(ascii: ".") }
        var power = Self.exponent(magnitude.dropFirst(mantissa.count + 1)) - fraction.count
        while digits.last == UInt8(ascii: "0") {
            digits.removeLast()
            power += 1
        }
        digits = digits.drop { $0 == UInt8(ascii: "0") }
        guard !digits.isEmpty else { return 0 }
        guard power >= 0, power <= Self.longestInteger - digits.count else { return nil }
        var value = 0
        for digit in digits + repeatElement(UInt8(ascii: "0"), count: power) {
            let (product, tooLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, tooLargeSum) = product.subtractingReportingOverflow(Int(digit) - 0x30)
            if tooLarge || tooLargeSum { return nil }
            value = sum
        }
        // Summed below zero, because the least integer has no positive counterpart.
        if isNegative { return value }
        return value == .min ? nil : -value
    }

    /// The digits of the largest integer.
    private static let longestInteger = 19
    /// Larger exponents count as this one, with which no integer but zero can have that exponent.
    private static let largestExponent = 1 << 27

    /// The exponent of a number: its text behind the `e`, which is empty without one.
    private static func exponent(_ text: ArraySlice<UInt8>) -> Int {
        var value = 0
        for byte in text where byte != UInt8(ascii: "+") && byte != UInt8(ascii: "-") {
            value = min(value * 10 + Int(byte) - 0x30, largestExponent)
        }
        return text.first == UInt8(ascii: "-") ? -value : value
    }
}
