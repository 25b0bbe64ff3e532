import ChatterdBasics

/// The limits of one answer.
public struct GenerationLimits: Sendable, Equatable {
    /// The timeout of the first byte, long because the server may have to load the model, or queues requests itself.
    public var firstByte: Duration = .seconds(300)
    /// The timeout of the next byte within an answer.
    public var silence: Duration = .seconds(60)
    /// The timeout of the whole answer.
    public var total: Duration = .seconds(1800)
    /// The timeout of the rest after the answer is whole: its token counts, and the end of the body.
    public var rest: Duration = .seconds(2)
    /// The limit of a line, in bytes.
    public var line = 1 << 20
    /// The limit of an answer, in bytes of the texts of all its lines.
    public var answer = 16 << 20

    /// Creates the default limits.
    public init() {}
}
