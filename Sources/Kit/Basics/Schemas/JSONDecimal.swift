/// A number of a JSON text, exactly: its digits times a power of ten.
struct JSONDecimal: Sendable, Equatable {
    /// The limit of the digits of a divisor. The remainder is computed with integers.
    static let longestDivisor = 18
    /// Larger exponents count as this one.
    private static let largestExponent = 1 << 40

    let isNegative: Bool
    /// The digits, 0 to 9, without zeros at either end; empty for zero.
    let digits: [UInt8]
    /// The power of ten of the last digit.
    let exponent: Int

    /// Reads a number that a `JSONReader` has checked.
    init(_ text: Span<UInt8>) {
        var digits: [UInt8] = []
        var fraction = 0
        var isFraction = false
        var index = text.count > 0 && text[0] == UInt8(ascii: "-") ? 1 : 0
        let isNegative = index == 1
        while index < text.count, text[index] | 0x20 != UInt8(ascii: "e") {
            if text[index] == UInt8(ascii: ".") {
                isFraction = true
            } else {
                // Zeros at the beginning have no value.
                if !digits.isEmpty || text[index] != UInt8(ascii: "0") { digits.append(text[index] &- 0x30) }
                if isFraction { fraction += 1 }
            }
            index += 1
        }
        var exponent = Self.exponent(text, from: index + 1) - fraction
        while digits.last == 0 {
            digits.removeLast()
            exponent += 1
        }
        self.digits = digits
        self.isNegative = isNegative && !digits.isEmpty
        self.exponent = digits.isEmpty ? 0 : exponent
    }

    private static func exponent(_ text: Span<UInt8>, from start: Int) -> Int {
        guard start < text.count else { return 0 }
        var value = 0
        for index in start..<text.count where text[index] != UInt8(ascii: "+") && text[index] != UInt8(ascii: "-") {
            value = min(value * 10 + Int(text[index]) - 0x30, largestExponent)
        }
        return text[start] == UInt8(ascii: "-") ? -value : value
    }

    /// Whether the number has no fraction.
    var isWhole: Bool { exponent >= 0 }

    /// Whether the number is less than another one.
    static func < (one: JSONDecimal, other: JSONDecimal) -> Bool {
        if one.isNegative != other.isNegative { return one.isNegative }
        return one.isNegative ? other.isNearerToZero(than: one) : one.isNearerToZero(than: other)
    }

    private func isNearerToZero(than other: JSONDecimal) -> Bool {
        guard !digits.isEmpty, !other.digits.isEmpty else { return digits.isEmpty && !other.digits.isEmpty }
        let (size, otherSize) = (digits.count + exponent, other.digits.count + other.exponent)
        return size != otherSize ? size < otherSize : digits.lexicographicallyPrecedes(other.digits)
    }

    /// Whether the number is a multiple of another one, which has at most `longestDivisor` digits and is not zero.
    ///
    /// The last digit is not 0, so that a multiple has no smaller power of ten than its divisor.
    func isMultiple(of divisor: JSONDecimal) -> Bool {
        if digits.isEmpty { return true }
        let shift = exponent - divisor.exponent
        guard shift >= 0 else { return false }
        let modulus = divisor.digits.reduce(0 as UInt64) { $0 * 10 + UInt64($1) }
        let rest = digits.reduce(0 as UInt64) { Self.product($0, 10, modulo: modulus, plus: UInt64($1)) }
        return Self.product(rest, Self.powerOfTen(shift, modulo: modulus), modulo: modulus) == 0
    }

    private static func powerOfTen(_ exponent: Int, modulo modulus: UInt64) -> UInt64 {
        var (power, factor, rest) = (1 % modulus, 10 % modulus, exponent)
        while rest > 0 {
            if rest & 1 == 1 { power = product(power, factor, modulo: modulus) }
            factor = product(factor, factor, modulo: modulus)
            rest >>= 1
        }
        return power
    }

    /// The rest of a product of two numbers; one of them is less than the modulus.
    private static func product(_ one: UInt64, _ other: UInt64, modulo modulus: UInt64, plus: UInt64 = 0) -> UInt64 {
        let (high, low) = one.multipliedFullWidth(by: other)
        let rest = high >= modulus ? 0 : modulus.dividingFullWidth((high, low)).remainder
        return (rest + plus) % modulus
    }

    /// Appends a form that equal numbers share.
    func append(to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: isNegative ? "-" : "+"))
        for digit in digits { bytes.append(digit + 0x30) }
        bytes.append(UInt8(ascii: "e"))
        bytes += Array(String(exponent).utf8)
        bytes.append(UInt8(ascii: ";"))
    }
}
