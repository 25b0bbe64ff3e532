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
