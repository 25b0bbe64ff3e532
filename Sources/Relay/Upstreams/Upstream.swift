import ChatterdLanguageModels

/// A model server as the replies of a shard use it.
public final class Upstream: Sendable {
    /// What its operator says of it.
    public let description: UpstreamDescription
    /// Where it is asked; confined to the shard.
    public let model: any LanguageModel
    /// How it has been doing; the same for all shards of the process.
    public let health: UpstreamHealth

    /// Makes an upstream.
    public init(_ description: UpstreamDescription, model: any LanguageModel, health: UpstreamHealth) {
        self.description = description
        self.model = model
        self.health = health
    }
}
