import ChatterdBasics

/// The limits of one answer.
public struct GenerationLimits: Sendable, Equatable {
    /// How long the model server may take to its first byte: it may have to load the model, and queues by itself.
    public var firstByte: Duration = .seconds(300)
    /// How long it may be silent in the middle of an answer.
    public var silence: Duration = .seconds(60)
    /// How long the whole answer may take.
    public var total: Duration = .seconds(1800)
    /// How long the rest is awaited once the answer is whole: its token counts, and the end of the body.
    public var rest: Duration = .seconds(2)
    /// The longest line, in bytes.
    public var line = 1 << 20
    /// The longest answer, in bytes of all its lines' texts.
    public var answer = 16 << 20

    /// Makes the limits with their defaults.
    public init() {}
}
