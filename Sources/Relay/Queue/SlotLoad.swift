/// The load of a model server.
public struct SlotLoad: Sendable, Equatable {
    /// The number of used slots.
    public var running: Int
    /// The number of waiting replies.
    public var waiting: Int
    /// The recent average time for which a slot was held; `nil` before any was released.
    public var hold: Duration?

    public init(running: Int, waiting: Int, hold: Duration?) {
        self.running = running
        self.waiting = waiting
        self.hold = hold
    }
}
