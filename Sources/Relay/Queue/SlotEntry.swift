/// The result of entering a ticket.
public struct SlotEntry: Sendable {
    /// The ticket's position in the queue; `nil` if it has a slot.
    public var place: QueuePlace?
    /// The tickets of this process that got slots in the same statement.
    public var granted: [SlotKey]

    /// Creates an entry.
    public init(place: QueuePlace?, granted: [SlotKey]) {
        self.place = place
        self.granted = granted
    }
}
