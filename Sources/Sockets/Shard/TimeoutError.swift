/// An operation that took longer than `Shard.withTimeout` allowed.
public struct TimeoutError: Error, Sendable, Hashable {
    public init() {}
}
