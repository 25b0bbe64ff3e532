import ChatterdBasics

/// The properties of one of the `EncodedMessages`, and its start in the JSON text.
public struct EncodedMessage: Sendable, Equatable {
    /// Its `seq` in the conversation; 0 if it has none.
    public let seq: Int64
    /// The `seq` of its turn; 0 outside of any turn.
    public let turn: Int64
    /// The offset of its object in the text, in bytes.
    let start: Int
    /// The bytes of its pictures in the JSON text.
    public let imageBytes: Int
    /// The number of its pictures.
    public let images: UInt32
    /// Whether one of its pictures is an address.
    let hasImageAddress: Bool
    public let role: MessageRole

    /// Whether a turn begins with a message of a turn and a role that comes after an older message.
    ///
    /// The answer of a tool stays with the turn that called the tool. Among seeded messages, a turn begins with a user message.
    public static func startsTurn(
        _ turn: Int64, _ role: MessageRole, after olderTurn: Int64, _ olderRole: MessageRole
    ) -> Bool {
        guard role != .tool else { return false }
        return turn != olderTurn || turn == 0 && role == .user && olderRole != .user
    }
}
