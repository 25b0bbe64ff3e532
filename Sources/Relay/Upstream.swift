import LanguageModels

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

/// A model server that may be asked for a reply, and the model's name there.
public struct UpstreamChoice: Sendable {
    /// The server.
    public let upstream: Upstream
    /// The name of the model there.
    public let model: String

    /// Makes a choice.
    public init(_ upstream: Upstream, model: String) {
        self.upstream = upstream
        self.model = model
    }
}
