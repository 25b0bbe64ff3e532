extension JSONReader {
    /// Reads a string and checks its escapes.
    public mutating func string() throws(JSONError) -> JSONString {
        guard try peek() == UInt8(ascii: "\"") else { throw JSONError(.wrongType, at: position) }
        return try stringHere()
    }

    /// Reads a value of any type. Returns a string; `nil` for any other type.
    public mutating func stringOrSkip() throws(JSONError) -> JSONString? {
        if try peek() == UInt8(ascii: "\"") { return try stringHere() }
        try skipValue()
        return nil
    }

    @inline(__always)
    mutating func stringHere() throws(JSONError) -> JSONString {
        let start = position + 1
        let end = bytes.firstToEscape(from: start)
        if end < bytes.count, bytes[end] == UInt8(ascii: "\"") {
            position = end + 1
            return JSONString(range: start..<end, hasEscapes: false)
        }
        return try escapedString(from: start, at: end)
    }

    /// Whether the text of a string equals `text`.
    @inlinable
    @inline(__always)
    public func matches(_ string: JSONString, _ text: StaticString) -> Bool {
        if string.hasEscapes {
            return matchesEscaped(string, text)
        }
        guard string.range.count == text.utf8CodeUnitCount else { return false }
        for index in 0..<text.utf8CodeUnitCount
        where bytes[string.range.lowerBound + index] != text.utf8Start[index] {
            return false
        }
        return true
    }

    @usableFromInline
    func matchesEscaped(_ string: JSONString, _ text: StaticString) -> Bool {
        let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        var matched = 0
        var index = string.range.lowerBound
        while index < string.range.upperBound {
            guard bytes[index] == UInt8(ascii: "\\") else {
                guard matched < wanted.count, bytes[index] == wanted[matched] else { return false }
                matched += 1
                index += 1
                continue
            }
            let escape = JSONEscape(in: bytes, at: index)
            for byte in UTF8.encode(escape.scalar) ?? UTF8.encodedReplacementCharacter {
                guard matched < wanted.count, byte == wanted[matched] else { return false }
                matched += 1
            }
            index += escape.length
        }
        return matched == wanted.count
    }

    private mutating func escapedString(from start: Int, at firstSpecial: Int) throws(JSONError) -> JSONString {
        var index = firstSpecial
        var hasEscapes = false
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                position = index + 1
                return JSONString(range: start..<index, hasEscapes: hasEscapes)
            case UInt8(ascii: "\\"):
                hasEscapes = true
                index = try checkEscape(at: index)
            default:
                throw JSONError(.controlCharacter, at: index)
            }
            index = bytes.firstToEscape(from: index)
        }
        throw JSONError(.unexpectedEnd, at: bytes.count)
    }

    /// Checks one escape or surrogate pair, and returns the index after it.
    private mutating func checkEscape(at index: Int) throws(JSONError) -> Int {
        guard index + 1 < bytes.count else { throw JSONError(.unexpectedEnd, at: bytes.count) }
        switch bytes[index + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return index + 2
        case UInt8(ascii: "u"):
            for position in index + 2..<index + 6 {
                guard position < bytes.count else { throw JSONError(.unexpectedEnd, at: bytes.count) }
                guard bytes[position].hexDigitValue != nil else { throw JSONError(.invalidEscape, at: position) }
            }
            let escape = JSONEscape(in: bytes, at: index)
            if escape.isUnstorable { hasUnstorableEscapes = true }
            return index + escape.length
        default:
            throw JSONError(.invalidEscape, at: index + 1)
        }
    }
}
