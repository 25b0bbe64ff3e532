import ChatterdBasics

/// A model server, or what stands in for one, as a shard sees it. Confined to its shard.
///
/// Whatever it speaks on the wire, its answer arrives at the consumer as lines in the shape of Ollama's `/api/chat`.
public protocol LanguageModel: AnyObject, Sendable {
    /// Starts an answer; the consumer hears of it on the shard, never before this call has returned.
    func generate(_ request: GenerationRequest, to consumer: any GenerationConsumer) -> any Generation
    /// Asks for its models.
    func listModels() async throws(ModelError) -> [ModelDescription]
}
