/// Reads and writes a descriptor that a shard watches.
public protocol ReadinessHandler: AnyObject {
    /// The descriptor became ready. Called on the shard.
    func becameReady(_ readiness: Readiness)
}
