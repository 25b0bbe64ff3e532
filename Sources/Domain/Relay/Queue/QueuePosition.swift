import ChatterdChat

/// The position of a reply in the queue of a model server.
public struct QueuePosition: Sendable, Hashable {
    /// The name of the model server.
    public var upstream: String
    /// The number of tickets before the reply's one, plus one.
    public var position: Int
    /// The number of waiting replies.
    public var length: Int

    public init(upstream: String, position: Int, length: Int) {
        self.upstream = upstream
        self.position = position
        self.length = length
    }
}
