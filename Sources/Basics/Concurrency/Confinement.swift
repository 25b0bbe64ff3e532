/// A serial context to which values are confined: a shard, or the scheduler that stands for one.
public protocol Confinement: Sendable {
    /// Stops the program unless the caller runs in this context.
    func preconditionCurrent()
}
