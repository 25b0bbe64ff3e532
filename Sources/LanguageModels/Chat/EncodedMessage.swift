import ChatterdBasics

/// What a message among `EncodedMessages` is, and where it stands.
public struct EncodedMessage: Sendable, Equatable {
    /// Its place in the conversation; 0 when it has none.
    public var place: Int64
    /// The turn it belongs to; 0 outside of any turn.
    public var turn: Int64
    /// The byte of the JSON text at which its object begins.
    public var start: Int
    /// Who speaks.
    public var role: MessageRole
    /// Whether it has more than role and content: pictures, tool calls.
    public var hasExtras: Bool
}
