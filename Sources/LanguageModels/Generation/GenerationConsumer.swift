import ChatterdBasics

/// The receiver of an answer. All calls come on the shard.
public protocol GenerationConsumer: AnyObject {
    /// Receives one line of the answer, a JSON object of Ollama's shape without its line end, in UTF-8 and free of NUL.
    ///
    /// - Parameters:
    ///   - line: borrowed for the duration of the call.
    ///   - fields: the ranges of the known members in the line.
    func generation(_ generation: any Generation, line: Span<UInt8>, fields: AnswerLine)
    /// Receives the end of the answer, once: `nil` after a line with `"done":true`, else the error that ended it.
    func generationEnded(_ generation: any Generation, error: ModelError?)
}
