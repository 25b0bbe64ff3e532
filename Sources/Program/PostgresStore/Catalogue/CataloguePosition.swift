import ChatterdBasics
import ChatterdIdentity

/// A position in the list of an owner's conversations, newest change first: behind a conversation, or inside one that is being searched.
public struct CataloguePosition: Sendable, Equatable {
    /// The limit of its text, in bytes: two numbers and the longest name.
    static let maximumTextLength = 2 * 17 + 2 * 4 * ConversationKey.maximumNameLength

    /// The conversation's `place`: the time of its last change as a rule, in microseconds since 1970.
    public let updatedAt: Int64
    /// The name of the conversation.
    public let name: String
    /// The `seq` of the last message that was searched; 0 behind the whole conversation.
    public let seq: Int64

    public init(updatedAt: Int64, name: String, seq: Int64 = 0) {
        self.updatedAt = updatedAt
        self.name = name
        self.seq = seq
    }

    /// Creates the position behind a conversation.
    init(behind entry: CatalogueEntry) {
        self.init(updatedAt: entry.place, name: entry.key.name)
    }

    /// Parses a text that `text` has written; `nil` for any other text. The text is bounded, and each position has one text.
    public init?(parsing text: String) {
        guard text.utf8.count <= Self.maximumTextLength else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let updatedAt = Self.number(parts[0]), let seq = Self.number(parts[1]),
            let bytes = Self.bytes(parts[2]), let name = String(validating: bytes, as: UTF8.self),
            1...ConversationKey.maximumNameLength ~= name.unicodeScalars.count, Owner.isName(name)
        else { return nil }
        self.init(updatedAt: updatedAt, name: name, seq: seq)
        guard self.text == text else { return nil }
    }

    /// The position as a cursor: hexadecimal numbers and the hexadecimal bytes of the name. Clients do not interpret it.
    public var text: String {
        "\(String(updatedAt, radix: 16)).\(String(seq, radix: 16)).\(String(hexadecimal: name.utf8))"
    }

    private static func number(_ text: Substring) -> Int64? {
        guard let number = Int64(text, radix: 16), number >= 0 else { return nil }
        return number
    }

    private static func bytes(_ text: Substring) -> [UInt8]? {
        let digits = text.utf8.map(\.hexDigitValue)
        guard digits.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = digits[index], let low = digits[index + 1] else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }
}
