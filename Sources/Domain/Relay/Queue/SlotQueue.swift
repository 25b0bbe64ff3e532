import ChatterdBasics
import ChatterdChat

/// The queues of model servers with slots. All processes share them. One object for the process; all calls from any shard.
///
/// The store decides which ticket is next, in the statement that enters or removes a ticket. `SlotTickets` polls the store for the
/// tickets of this process: while some wait, it checks every 50 ms whether other processes have given them slots.
public final class SlotQueue: Sendable {
    /// The assumed time for which a slot is held, before any has been released.
    private static let usualHold = Duration.seconds(5)

    private let store: any SlotStore
    private let scheduler: Scheduler
    private let admissions = SlotAdmissions()
    private let tickets: Confined<SlotTickets>

    /// Creates the queues of a process. The store is used on the scheduler's shard.
    public init(store: any SlotStore, limits: RelayLimits, scheduler: Scheduler) {
        self.store = store
        self.scheduler = scheduler
        tickets = Confined(
            SlotTickets(store: store, limits: limits, scheduler: scheduler, admissions: admissions), to: scheduler)
    }

    /// Admits a prompt if the queue has room for its ticket. An admitted prompt counts for two seconds, or until its ticket does;
    /// `releaseAdmission` ends that earlier.
    ///
    /// - Parameter home: the shard of the caller.
    /// - Throws: `overloaded`, with the time after which there may be room; `storeUnavailable`.
    public func reserveAdmission(at upstream: UpstreamDescription, on home: Scheduler) async throws(RelayError) {
        guard let slots = upstream.slots else { return }
        let load = try await store.load(of: upstream.name)
        // Only the caller's shard may read its clock.
        guard !admissions.admit(at: upstream, slots: slots, load: load, now: home.now()) else { return }
        let wait = (load.hold ?? Self.usualHold) * (load.waiting + 1) / max(slots, 1)
        var error = RelayError(
            .overloaded, "\(load.waiting) prompts are waiting for the model server already. Try again in a while.")
        error.retryAfter = .seconds(min(max(wait.components.seconds + 1, 1), 600))
        throw error
    }

    /// Releases the admission of a prompt that will not enter the queue.
    public func releaseAdmission(at upstream: UpstreamDescription) {
        admissions.remove(at: upstream.name)
    }

    /// Whether replies of any process wait for a slot.
    func isAnyoneWaiting(at upstream: String) async throws(RelayError) -> Bool {
        try await store.load(of: upstream).waiting > 0
    }

    /// Replaces the configured numbers of slots, which also apply to waiting tickets.
    public func update(slots configured: [String: Int]) {
        scheduler.run { [tickets] in tickets.value.configured = configured }
    }

    /// The tickets of this process, by the names of the model servers.
    public func figures() async -> [String: SlotFigures] {
        await withCheckedContinuation { continuation in
            scheduler.run { [tickets] in continuation.resume(returning: tickets.value.figures) }
        }
    }

    /// Waits for a slot.
    ///
    /// - Parameters:
    ///   - home: the shard of the reply. `onMove` is called there with the first position and with changes, at most once per second.
    /// - Throws: `cancelled` after `release`; `storeUnavailable` when the store is unavailable for longer than the timeout;
    ///   `conversationReplaced` or `interrupted` when this process no longer generates the reply.
    public func acquire(
        _ ticket: SlotTicket, on home: Scheduler, onMove: @escaping @Sendable (QueuePosition) -> Void
    ) async throws(RelayError) {
        let error = await withCheckedContinuation { continuation in
            let caller = SlotWaiter.Caller(home: home, onMove: onMove, continuation: continuation)
            scheduler.run { [tickets] in tickets.value.acquire(ticket, for: caller) }
        }
        if let error { throw error }
    }

    /// Releases a slot, or removes a waiting ticket: `acquire` throws then.
    ///
    /// While the store is unavailable, the queue retries until it has removed the ticket.
    public func release(_ ticket: SlotTicket) {
        scheduler.run { [tickets] in tickets.value.release(ticket) }
    }

    /// Keeps a ticket in the store for the next owner of its reply. A running `acquire` throws.
    public func keep(_ ticket: SlotTicket) {
        scheduler.run { [tickets] in tickets.value.keep(ticket) }
    }

    /// Stops all retries, because the process ends: its tickets become invalid with its lease.
    public func end() {
        scheduler.run { [tickets] in tickets.value.end() }
    }
}

/// The tickets of a process for one model server.
public struct SlotFigures: Sendable, Equatable {
    /// Those that have a slot.
    public var used = 0
    /// Those that wait for one.
    public var waiting = 0

    public init() {}
}
