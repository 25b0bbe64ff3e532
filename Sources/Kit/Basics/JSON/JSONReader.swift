/// Reads a JSON text (RFC 8259) value by value, and checks its grammar.
///
/// It allocates no memory. It accepts all bytes from 0x80 on in strings; `UTF8Repair` and `JSONReader.validate` check whether the text is
/// UTF-8.
public struct JSONReader: ~Escapable {
    /// The limit of nested containers.
    public static var maximumDepth: Int { 64 }

    /// The whole text.
    public let bytes: Span<UInt8>

    /// The index of the next byte.
    public internal(set) var position: Int

    /// The number of containers that the reader is in.
    @usableFromInline var depth = 0

    /// Whether a string contained `\u0000` or half of a surrogate pair, which a text column cannot store.
    public internal(set) var hasUnstorableEscapes = false

    /// Whether a line end was among the white space.
    public internal(set) var hasLineEnds = false

    /// Starts before the first value of a text.
    @_lifetime(copy bytes)
    public init(_ bytes: Span<UInt8>, at position: Int = 0) {
        self.bytes = bytes
        self.position = position
    }

    /// Checks that a text is exactly one value, in UTF-8.
    public static func validate(_ text: Span<UInt8>) throws(JSONError) {
        if let offset = UTF8Repair.firstInvalid(in: text) {
            throw JSONError(.invalidUTF8, at: offset)
        }
        var reader = JSONReader(text)
        _ = try reader.skipValue()
        try reader.finish()
    }

    /// Reads white space up to the end of the text.
    public mutating func finish() throws(JSONError) {
        skipWhitespace()
        guard position == bytes.count else { throw JSONError(.trailingBytes, at: position) }
    }

    /// The type of the next value, by its first byte.
    public mutating func kind() throws(JSONError) -> JSONKind {
        switch try peek() {
        case UInt8(ascii: "{"): .object
        case UInt8(ascii: "["): .array
        case UInt8(ascii: "\""): .string
        case UInt8(ascii: "t"), UInt8(ascii: "f"): .boolean
        case UInt8(ascii: "n"): .null
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): .number
        default: throw JSONError(.unexpectedByte, at: position)
        }
    }

    /// Skips white space, and returns the next byte without consuming it.
    @inline(__always)
    mutating func peek() throws(JSONError) -> UInt8 {
        skipWhitespace()
        guard position < bytes.count else { throw JSONError(.unexpectedEnd, at: position) }
        return bytes[position]
    }

    @inline(__always)
    mutating func skipWhitespace() {
        if position < bytes.count, bytes[position] <= 0x20 {
            skipWhitespaceSlowly()
        }
    }

    private mutating func skipWhitespaceSlowly() {
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: " "), UInt8(ascii: "\t"): break
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"): hasLineEnds = true
            default: return
            }
            position += 1
        }
    }
}

/// The types of JSON values.
public enum JSONKind: Sendable {
    /// `{…}`.
    case object
    /// `[…]`.
    case array
    /// `"…"`.
    case string
    /// Digits, with or without sign, fraction and exponent.
    case number
    /// `true` or `false`.
    case boolean
    /// `null`.
    case null
}
