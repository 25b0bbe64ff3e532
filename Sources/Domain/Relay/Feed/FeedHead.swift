/// The data of a conversation that decide how its feed continues.
public struct FeedHead: Sendable, Equatable {
    /// Distinguishes the conversation from others of the same name; 0 for one that only processes of earlier versions have changed.
    public var epoch: Int64
    /// The number of changes.
    public var revision: Int64
    /// The revision of the last change that cannot be replayed.
    public var base: Int64

    public init(epoch: Int64, revision: Int64, base: Int64) {
        self.epoch = epoch
        self.revision = revision
        self.base = base
    }
}
