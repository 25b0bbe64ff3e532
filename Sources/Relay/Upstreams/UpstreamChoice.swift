import ChatterdLanguageModels

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
