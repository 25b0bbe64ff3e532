import ChatterdBasics

/// Whoever receives an answer; all calls come on the shard.
public protocol GenerationConsumer: AnyObject {
    /// One line of the answer, a JSON object of Ollama's shape without its line end, in UTF-8 and free of NUL.
    ///
    /// - Parameters:
    ///   - line: lent for the duration of the call.
    ///   - fields: where the members of interest stand in the line.
    func generation(_ generation: any Generation, line: Span<UInt8>, fields: AnswerLine)
    /// The answer is over: complete after a line with `"done":true`, or for the reason given. Called once.
    func generationEnded(_ generation: any Generation, error: ModelError?)
}
