/// The place of a reply in the queue of a model server.
public struct QueuePosition: Sendable, Hashable, Codable {
    /// The name of the model server.
    public let upstream: String
    /// From 1, the next one.
    public let position: Int
    /// The number of replies that wait.
    public let length: Int
}
