/// What came of a ticket.
public struct SlotEntry: Sendable {
    /// Where it waits; nothing when it has a slot.
    public var place: QueuePlace?
    /// The tickets of this process that were given a slot in the same step.
    public var granted: [SlotKey]

    /// Makes an entry.
    public init(place: QueuePlace?, granted: [SlotKey]) {
        self.place = place
        self.granted = granted
    }
}
