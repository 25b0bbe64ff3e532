/// The reason why a text is not JSON, or not JSON of the expected type.
public struct JSONError: Error, Equatable, Sendable {
    /// The kind of fault.
    public let code: Code

    /// The index of the byte with the fault; the length of the text if it ended too soon.
    public let offset: Int

    public init(_ code: Code, at offset: Int) {
        self.code = code
        self.offset = offset
    }

    /// The kinds of faults.
    public enum Code: String, Sendable, CaseIterable {
        /// The text ends inside a value.
        case unexpectedEnd
        /// A byte outside of the grammar (RFC 8259, section 2).
        case unexpectedByte
        /// A literal other than `true`, `false` and `null` (section 3).
        case invalidLiteral
        /// A malformed number, for example with a leading zero or without digits after its point (section 6).
        case invalidNumber
        /// A backslash that begins none of the escapes of section 7.
        case invalidEscape
        /// A raw control character in a string (section 7).
        case controlCharacter
        /// Bytes that are not UTF-8 (section 8.1).
        case invalidUTF8
        /// More nested containers than the limit.
        case tooDeep
        /// Bytes after the value.
        case trailingBytes
        /// A value of another type than the expected one.
        case wrongType
    }
}

extension JSONError: CustomStringConvertible {
    /// The fault in a few words, without any byte of the text.
    public var description: String {
        let text =
            switch code {
            case .unexpectedEnd: "the text ends inside a value"
            case .unexpectedByte: "unexpected character"
            case .invalidLiteral: "unknown literal"
            case .invalidNumber: "malformed number"
            case .invalidEscape: "malformed escape in a string"
            case .controlCharacter: "raw control character in a string"
            case .invalidUTF8: "not UTF-8"
            case .tooDeep: "nested too deeply"
            case .trailingBytes: "more text after the value"
            case .wrongType: "a value of another type was expected"
            }
        return "\(text) at byte \(offset)"
    }
}
