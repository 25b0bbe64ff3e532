import ChatterdBasics

/// The properties of one of the `EncodedMessages`, and its start in the JSON text.
public struct EncodedMessage: Sendable, Equatable {
    /// Its `seq` in the conversation; 0 if it has none.
    public var seq: Int64
    /// The `seq` of its turn; 0 outside of any turn.
    public var turn: Int64
    /// The offset of its object in the JSON text, in bytes.
    public var start: Int
    public var role: MessageRole
    /// Whether it has more than role and content, such as images or tool calls.
    public var hasExtras: Bool
}
