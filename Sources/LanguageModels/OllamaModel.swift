import Bytes
import HTTP
import HTTPClient
import Sockets

/// A model server that speaks Ollama's own API. Confined to its shard.
public final class OllamaModel: LanguageModel, @unchecked Sendable {
    private let client: HTTPClient
    private let shard: Shard
    private let origin: Origin
    /// The fields of every request to it.
    public let fields: Fields
    private let limits: GenerationLimits
    private let now: @Sendable () -> Int64

    /// Makes the model server's stand-in on a shard.
    ///
    /// - Parameters:
    ///   - key: sent as a bearer token if there is one.
    ///   - now: the wall clock in nanoseconds since 1970.
    public init(
        client: HTTPClient, shard: Shard, origin: Origin, key: String?, limits: GenerationLimits,
        now: @escaping @Sendable () -> Int64
    ) {
        self.client = client
        self.shard = shard
        self.origin = origin
        self.limits = limits
        self.now = now
        var fields: Fields = [.contentType: "application/json"]
        if let key, let value = FieldValue(validating: "Bearer \(key)") {
            fields.set(.authorization, value)
        }
        self.fields = fields
    }

    /// Sends the conversation to `/api/chat`.
    public func generate(_ request: GenerationRequest, to consumer: any GenerationConsumer) -> any Generation {
        var body = OllamaChatRequest(model: request.model, capacity: request.messages.json.count)
        body.append(encodedMessages: request.messages.json.bytes)
        let outgoing = OutgoingRequest(
            .post, "/api/chat", fields: fields, body: body.finish(stream: true, passThrough: request.passThrough))
        let generation = OllamaGeneration(model: request.model, limits: limits, now: now, consumer: consumer)
        generation.start(client.start(outgoing, to: origin, delegate: generation), on: shard)
        return generation
    }

    /// Asks `/api/tags`.
    public func listModels() async throws(ModelError) -> [ModelDescription] { [] }
}
