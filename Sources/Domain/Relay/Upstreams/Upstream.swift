import ChatterdBasics
import ChatterdChat

/// A model server as the replies of a shard use it.
public final class Upstream: Sendable {
    /// The operator's description of the server.
    public let description: UpstreamDescription
    /// The health of the server; all shards of the process share it.
    public let health: UpstreamHealth
    private let confinedModel: Confined<any LanguageModel>

    /// Creates an upstream. The model is used on its shard only.
    public init(_ description: UpstreamDescription, model: Confined<any LanguageModel>, health: UpstreamHealth) {
        self.description = description
        self.health = health
        confinedModel = model
    }

    /// The client of the server. The caller runs on the shard.
    public var model: any LanguageModel { confinedModel.value }
}
