import ChatterdLanguageModels

/// Where a reply stands in the queue of a model server.
public struct QueuePlace: Sendable, Hashable {
    /// The name of the model server.
    public var upstream: String
    /// Its place: 1 is the next one.
    public var position: Int
    /// The replies that wait.
    public var length: Int

    /// Makes a place.
    public init(upstream: String, position: Int, length: Int) {
        self.upstream = upstream
        self.position = position
        self.length = length
    }
}
