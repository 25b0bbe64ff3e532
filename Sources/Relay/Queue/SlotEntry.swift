/// The result of entering a ticket.
public struct SlotEntry: Sendable {
    /// The ticket's position in the queue; `nil` if it has a slot.
    public var position: QueuePosition?
    /// The tickets of this process that got slots in the same statement.
    public var granted: [SlotKey]

    public init(position: QueuePosition?, granted: [SlotKey]) {
        self.position = position
        self.granted = granted
    }
}
