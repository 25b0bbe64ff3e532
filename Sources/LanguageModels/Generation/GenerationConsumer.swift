import ChatterdBasics

/// The receiver of an answer. All calls come on the shard.
public protocol GenerationConsumer: AnyObject {
    /// Receives lines of the answer, JSON objects of Ollama's shape without their line ends, in UTF-8 and free of NUL. The last line,
    /// with `"done":true`, comes alone. A consumer that cancels ignores the rest of the run.
    func generation(_ generation: any Generation, lines: LineRun)
    /// Receives the end of the answer, once: `nil` after a line with `"done":true`, else the error that ended it.
    func generationEnded(_ generation: any Generation, error: ModelError?)
}
