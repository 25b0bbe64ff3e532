import ChatterdBasics

/// The state of one ticket of this process. Confined to the queue's shard.
final class SlotWaiter {
    /// The reply that waits for the slot, on its own shard.
    struct Caller: Sendable {
        let home: Scheduler
        let onMove: @Sendable (QueuePosition) -> Void
        let continuation: CheckedContinuation<RelayError?, Never>

        /// Ends the wait: `nil` if the reply has a slot.
        func resume(_ error: RelayError?) {
            // On the shard of the reply, because the reply may not be suspended yet.
            home.run { continuation.resume(returning: error) }
        }
    }

    var ticket: SlotTicket
    var caller: Caller?
    /// Whether the reply wants or has the slot.
    var isWanted = false
    /// Whether the store has the ticket, as far as this process knows.
    var isEntered = false
    /// The number of the last statement that entered the ticket, among all such statements of the process.
    var entry = 0
    /// Whether the store may have the ticket, and it must be removed before anything else.
    var mustLeave = false
    /// Whether a task works on the ticket.
    var isBusy = false
    /// The retries while the store is unavailable.
    var retry = StoreRetry()
    /// The wait between retries.
    let pause: Pause
    private var reported: (position: QueuePosition, at: Instant)?

    init(_ ticket: SlotTicket, on scheduler: Scheduler) {
        self.ticket = ticket
        pause = Pause(on: scheduler)
    }

    /// Whether the ticket is in the queue without a slot.
    var isWaiting: Bool { isEntered && caller != nil }

    /// Reports a new position to the reply, at most once per interval.
    func report(_ position: QueuePosition, at now: Instant, interval: Duration) {
        guard let caller, reported?.position != position else { return }
        if let reported, now - reported.at < interval { return }
        reported = (position, now)
        caller.home.run { caller.onMove(position) }
    }

    /// Ends the wait of the reply: `nil` if it has a slot.
    func resume(_ error: RelayError?) {
        reported = nil
        caller.take()?.resume(error)
    }
}
