/// Reads the field section of a head, RFC 9112 section 5.
struct FieldParser {
    /// The number of field lines for which memory is reserved at once: an ordinary request has fewer.
    private static let usualCount = 12

    private(set) var fields = Fields()

    /// Reads lines until the empty one. Returns `false` if more bytes are needed.
    mutating func parse(
        _ bytes: Span<UInt8>, scanner: inout LineScanner, limits: HeadLimits
    ) throws(HTTPError) -> Bool {
        while let line = try scanner.next(
            in: bytes, lineLimit: limits.fieldLine, tooLong: .fieldTooLarge, headLimit: limits.total)
        {
            if line.isEmpty {
                return true
            }
            guard fields.count < limits.fields else { throw HTTPError(.tooManyFields) }
            if fields.isEmpty {
                fields.reserveCapacity(Self.usualCount)
            }
            try parse(line: line, of: bytes)
        }
        return false
    }

    private mutating func parse(line: Range<Int>, of bytes: Span<UInt8>) throws(HTTPError) {
        // RFC 9112 2.2 and 5.2: a line that begins with white space is folded, or hides a field.
        guard !Grammar.isBlank(bytes[line.lowerBound]) else { throw HTTPError(.foldedField) }
        var colon = line.lowerBound
        while colon < line.upperBound, Grammar.isTokenByte(bytes[colon]) {
            colon += 1
        }
        guard colon < line.upperBound else { throw HTTPError(.missingColon) }
        guard bytes[colon] == UInt8(ascii: ":"), colon > line.lowerBound else { throw HTTPError(.malformedFieldName) }

        var start = colon + 1
        var end = line.upperBound
        while start < end, Grammar.isBlank(bytes[start]) {
            start += 1
        }
        while end > start, Grammar.isBlank(bytes[end - 1]) {
            end -= 1
        }
        fields.add(
            FieldName(lowercase: bytes.lowercaseText(line.lowerBound..<colon)),
            FieldValue(checked: bytes.text(start..<end)))
    }
}
