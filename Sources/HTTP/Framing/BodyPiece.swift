/// What a body decoder found.
public enum BodyPiece: Sendable, Hashable {
    /// Data of the body, at least one byte, at a range of the bytes given.
    case data(Range<Int>)
    /// All bytes given are used, and the body goes on.
    case more
    /// The body is complete; what follows belongs to the next message.
    case end
}
