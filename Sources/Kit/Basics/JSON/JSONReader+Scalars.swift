extension JSONReader {
    /// Reads `true` or `false`.
    public mutating func boolean() throws(JSONError) -> Bool {
        let first = try peek()
        guard first == UInt8(ascii: "t") || first == UInt8(ascii: "f") else {
            throw JSONError(.wrongType, at: position)
        }
        try skipScalar(first)
        return first == UInt8(ascii: "t")
    }

    /// Reads a number. Returns it if it fits an integer and has neither fraction nor exponent; `nil` for any other number.
    public mutating func integer() throws(JSONError) -> Int? {
        guard try kind() == .number else { throw JSONError(.wrongType, at: position) }
        let start = position
        try skipNumber()
        let isNegative = bytes[start] == UInt8(ascii: "-")
        var value = 0
        for index in (isNegative ? start + 1 : start)..<position {
            let digit = Int(bytes[index]) - 0x30
            guard 0...9 ~= digit else { return nil }
            let (product, tooLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, tooLargeSum) = product.subtractingReportingOverflow(digit)
            if tooLarge || tooLargeSum { return nil }
            value = sum
        }
        // Summed below zero, because the least integer has no positive counterpart.
        if isNegative { return value }
        return value == .min ? nil : -value
    }

    /// Skips a literal or a number that begins with a byte.
    @inline(__always)
    mutating func skipScalar(_ first: UInt8) throws(JSONError) {
        switch first {
        case UInt8(ascii: "t"): try skip("true")
        case UInt8(ascii: "f"): try skip("false")
        case UInt8(ascii: "n"): try skip("null")
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try skipNumber()
        default: throw JSONError(.unexpectedByte, at: position)
        }
    }

    @inline(__always)
    private mutating func skip(_ literal: StaticString) throws(JSONError) {
        let length = literal.utf8CodeUnitCount
        for index in 0..<length {
            guard position + index < bytes.count else { throw JSONError(.unexpectedEnd, at: bytes.count) }
            guard bytes[position + index] == literal.utf8Start[index] else {
                throw JSONError(.invalidLiteral, at: position + index)
            }
        }
        position += length
    }

    /// Skips `-? (0 | [1-9][0-9]*) ('.' [0-9]+)? ([eE] [+-]? [0-9]+)?` (section 6).
    private mutating func skipNumber() throws(JSONError) {
        if bytes[position] == UInt8(ascii: "-") { position += 1 }
        if position < bytes.count, bytes[position] == UInt8(ascii: "0") {
            position += 1
            if position < bytes.count, isDigit(bytes[position]) { throw JSONError(.invalidNumber, at: position) }
        } else {
            try skipDigits()
        }
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            position += 1
            try skipDigits()
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < bytes.count, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-") {
                position += 1
            }
            try skipDigits()
        }
    }

    /// Skips one or more digits.
    @inline(__always)
    private mutating func skipDigits() throws(JSONError) {
        let start = position
        while position < bytes.count, isDigit(bytes[position]) { position += 1 }
        if position > start { return }
        throw JSONError(position < bytes.count ? .invalidNumber : .unexpectedEnd, at: position)
    }

    @inline(__always)
    private func isDigit(_ byte: UInt8) -> Bool {
        byte &- 0x30 < 10
    }
}
