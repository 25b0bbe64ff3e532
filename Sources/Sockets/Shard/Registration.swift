/// A descriptor that a shard watches, and its slot there.
public struct Registration: Sendable {
    let slot: Int
    let descriptor: Int32
}
