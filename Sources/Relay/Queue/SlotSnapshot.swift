/// The tickets of a process at one time.
public struct SlotSnapshot: Sendable {
    /// The positions of the waiting tickets.
    public var positions: [SlotKey: QueuePosition] = [:]
    /// The tickets with a slot.
    public var granted: [SlotKey] = []
    /// The slots that living processes use, for each requested model server.
    public var running: [String: Int] = [:]

    /// Creates an empty snapshot.
    public init() {}
}
