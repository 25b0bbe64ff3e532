/// The result of a step of a body decoder.
public enum BodyPiece: Sendable, Hashable {
    /// Data of the body, at least one byte, at a range of the bytes given.
    case data(Range<Int>)
    /// All bytes are used, and the body continues.
    case more
    /// The body is complete. Further bytes belong to the next message.
    case end
}
