import ChatterClient

/// Shows the events of an answer.
protocol AnswerPrinter: Sendable {
    mutating func show(_ event: ReplyEvent)
    /// The answer has failed, after the events before.
    mutating func fail(_ error: ChatterError)
}
