/// How busy a model server is.
public struct SlotLoad: Sendable, Equatable {
    /// The slots that are taken.
    public var running: Int
    /// The replies that wait.
    public var waiting: Int
    /// How long a slot has been held of late; nothing if none was given back yet.
    public var hold: Duration?

    /// Makes a load.
    public init(running: Int, waiting: Int, hold: Duration?) {
        self.running = running
        self.waiting = waiting
        self.hold = hold
    }
}
