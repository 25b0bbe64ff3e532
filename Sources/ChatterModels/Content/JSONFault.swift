/// The reason why a text is not JSON (RFC 8259), or has containers that are nested too deeply.
public struct JSONFault: Error, Sendable, Hashable {
    /// The kind of fault.
    public enum Code: String, Sendable, Hashable {
        case unexpectedByte, invalidNumber, invalidLiteral, invalidEscape, controlCharacter, invalidUTF8, tooDeep
        /// The text ends inside a value.
        case unexpectedEnd
        /// More text follows the value.
        case trailingBytes
    }

    public let code: Code
    /// The number of bytes before the fault.
    public let offset: Int
}
