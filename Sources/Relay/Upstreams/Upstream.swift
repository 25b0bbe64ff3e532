import ChatterdLanguageModels

/// A model server as the replies of a shard use it.
public final class Upstream: Sendable {
    /// The operator's description of the server.
    public let description: UpstreamDescription
    /// The client of the server. Confined to the shard.
    public let model: any LanguageModel
    /// The health of the server; all shards of the process share it.
    public let health: UpstreamHealth

    public init(_ description: UpstreamDescription, model: any LanguageModel, health: UpstreamHealth) {
        self.description = description
        self.model = model
        self.health = health
    }
}
