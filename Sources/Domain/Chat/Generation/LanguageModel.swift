import ChatterdBasics

/// A model server, or the built-in model. Confined to its shard.
///
/// The consumer gets the answer as lines in the shape of Ollama's `/api/chat`, for every dialect.
public protocol LanguageModel: AnyObject {
    /// Starts an answer. The consumer is called on the shard, never before this call has returned.
    func generate(_ request: GenerationRequest, to consumer: any GenerationConsumer) -> any Generation
    /// Asks the server for its models.
    ///
    /// - Throws: the error of the server or the exchange.
    func listModels() async throws(ModelError) -> [ModelDescription]
}

/// The receiver of an answer. All calls come on the shard.
public protocol GenerationConsumer: AnyObject {
    /// Receives lines of the answer, JSON objects of Ollama's shape without their line ends, in UTF-8 and free of NUL. The last line,
    /// with `"done":true`, comes alone. A consumer that cancels ignores the rest of the run.
    func generation(_ generation: any Generation, lines: LineRun)
    /// Receives the end of the answer, once: `nil` after a line with `"done":true`, else the error that ended it.
    func generationEnded(_ generation: any Generation, error: ModelError?)
}

/// An answer that a model server is generating. Confined to its shard.
public protocol Generation: AnyObject {
    /// Ends the answer: the connection is closed, and the consumer gets no further call.
    func cancel()
    /// Stops reading the answer, because its reader is slow.
    func pause()
    /// Continues reading after `pause`.
    func resume()
}
