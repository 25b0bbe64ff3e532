import ChatterdChat

/// A model on a model server that may be asked for a reply.
public struct ModelTarget: Sendable {
    public let upstream: Upstream
    /// The name of the model on this server.
    public let model: String

    public init(_ upstream: Upstream, model: String) {
        self.upstream = upstream
        self.model = model
    }
}
