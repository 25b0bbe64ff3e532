/// The way of one ticket through the queue. Confined to the queue's shard.
final class SlotPassage: @unchecked Sendable {
    /// Whoever waits for the slot, on its own shard.
    struct Waiter {
        let home: Scheduler
        let onMove: @Sendable (QueuePlace) -> Void
        let continuation: CheckedContinuation<RelayError?, Never>

        /// Tells that there is a slot, or why there is none.
        func end(_ error: RelayError?) {
            // There, as it may not have begun to wait yet.
            home.run { continuation.resume(returning: error) }
        }
    }

    var ticket: SlotTicket
    var waiter: Waiter?
    /// Whether the reply wants the slot, or has it.
    var isWanted = false
    /// Whether the ticket is in the store, as far as is known here.
    var isEntered = false
    /// The number of the statement that entered it last, among all of the process.
    var entry = 0
    /// Whether it may be there, and is to be taken out before anything else.
    var isToLeave = false
    /// Whether a task is at it.
    var isBusy = false
    /// How long the store has been away for it.
    var patience = StorePatience()
    /// The wait for a store that is away.
    let pause: Pause
    private var told: (place: QueuePlace, at: UInt64)?

    init(_ ticket: SlotTicket, on scheduler: Scheduler) {
        self.ticket = ticket
        pause = Pause(on: scheduler)
    }

    /// Whether it is in the queue, without a slot.
    var isWaiting: Bool { isEntered && waiter != nil }

    /// Tells the place, if it is another one than before; not more often than the interval.
    func move(to place: QueuePlace, at now: UInt64, interval: Duration) {
        guard let waiter, told?.place != place else { return }
        if let told, .nanoseconds(now &- told.at) < interval { return }
        told = (place, now)
        waiter.home.run { waiter.onMove(place) }
    }

    /// Tells whoever waits that there is a slot, or why there is none.
    func end(_ error: RelayError?) {
        told = nil
        waiter.take()?.end(error)
    }
}
