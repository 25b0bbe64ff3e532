import ChatterdBasics
import ChatterdLanguageModels

/// The queues of model servers with slots, shared by all processes; one for the process, confined to a shard of its own choice.
///
/// Who is next is decided in the store, in the step that puts a ticket in or takes one out. Here the tickets of this process are
/// watched: while some wait, it looks every 50 ms whether others have given them slots.
public final class SlotQueue: @unchecked Sendable {
    /// For how long a prompt that was let in counts, until its reply has asked for a slot.
    private static let admission: UInt64 = 2_000_000_000
    /// For how long a statement whose confirmation was lost may yet be done.
    private static let doubt: UInt64 = 30_000_000_000
    /// The longest wait for a store that is away, and for how long a slot is held when nobody knows.
    private static let longestPause = Duration.seconds(2)
    private static let usualHold = Duration.seconds(5)

    private let store: any SlotStore
    private let limits: RelayLimits
    private let scheduler: Scheduler
    private var passages: [SlotKey: SlotPassage] = [:]
    /// The slots of each model server, as the last ticket said, and as they are now where that is known.
    private var slots: [String: Int] = [:]
    private var current: [String: Int] = [:]
    /// Until when the prompts count that were let in.
    private let admitted = Lock<[String: [UInt64]]>([:])

    /// How many tickets have been sent to the store.
    private var entries = 0
    private var alarm: (any Alarm)?
    private var nextLook: UInt64?
    private var isLooking = false
    private var surveyedAt: UInt64 = 0
    private var doubtedUntil: UInt64 = 0
    private var patience = StorePatience()
    private var isEnded = false
    /// The tickets that the next owners of their replies take over. The survey must not remove them.
    private var forgotten: Set<SlotKey> = []

    /// Makes the queues of a process; the store is used on the scheduler's shard.
    public init(store: any SlotStore, limits: RelayLimits, scheduler: Scheduler) {
        self.store = store
        self.limits = limits
        self.scheduler = scheduler
    }

    // MARK: - From any shard

    /// Refuses a prompt for which there is no room in the queue. One that is let in counts for a while, until its ticket does;
    /// `giveRoomBack` ends that.
    ///
    /// - Parameter home: the shard that asks.
    /// - Throws: `overloaded`, with the time after which there may be room; `storeUnavailable`.
    public func requireRoom(at upstream: UpstreamDescription, on home: Scheduler) async throws(RelayError) {
        guard let slots = upstream.slots else { return }
        let load = try await store.load(of: upstream.name)
        // The clock of the shard that asks: that of another one is not to be read here.
        let now = home.now()
        // Many may be let in before the first of them is in the queue.
        let isRoom = admitted.withLock { admitted in
            var pending = admitted[upstream.name, default: []]
            pending.removeAll { $0 <= now }
            let isRoom = load.running + load.waiting + pending.count < slots + upstream.queueLimit
            if isRoom {
                pending.append(now + Self.admission)
            }
            admitted[upstream.name] = pending.isEmpty ? nil : pending
            return isRoom
        }
        guard !isRoom else { return }
        let wait = (load.hold ?? Self.usualHold) * (load.waiting + 1) / max(slots, 1)
        var error = RelayError(
            .overloaded, "\(load.waiting) prompts are waiting for the model server already. Try again in a while.")
        error.retryAfter = .seconds(min(max(wait.components.seconds + 1, 1), 600))
        throw error
    }

    /// A prompt that was let in will not come. From any shard.
    public func giveRoomBack(at upstream: UpstreamDescription) {
        noteOneLess(of: upstream.name)
    }

    /// Whether replies of any process wait for a slot. From any shard.
    func isAnyoneWaiting(at upstream: String) async throws(RelayError) -> Bool {
        try await store.load(of: upstream).waiting > 0
    }

    private func noteOneLess(of upstream: String) {
        admitted.withLock { admitted in
            guard admitted[upstream] != nil else { return }
            admitted[upstream]?.removeFirst()
            if admitted[upstream]?.isEmpty == true {
                admitted[upstream] = nil
            }
        }
    }

    /// Takes the slots of model servers as they are now: tickets that wait go by these, not by those of their time. From any
    /// shard.
    public func update(slots current: [String: Int]) {
        scheduler.run { [self] in
            self.current = current
        }
    }

    /// Waits for a slot; from any shard.
    ///
    /// - Parameters:
    ///   - home: the shard of the reply; `onMove` is called there, at first and whenever the place has changed, once a second at
    ///     most.
    /// - Throws: `cancelled` after `giveBack`; `storeUnavailable` when the store is away for longer than the timeout;
    ///   `conversationReplaced` or `interrupted` when the reply is not to be made any more.
    public func take(
        _ ticket: SlotTicket, on home: Scheduler, onMove: @escaping @Sendable (QueuePlace) -> Void
    ) async throws(RelayError) {
        let error = await withCheckedContinuation { continuation in
            let waiter = SlotPassage.Waiter(home: home, onMove: onMove, continuation: continuation)
            scheduler.run { [self] in begin(ticket, waiter) }
        }
        if let error { throw error }
    }

    /// Gives a slot back, or the place in the queue up: `take` throws then. From any shard.
    ///
    /// While the store is away it is tried again and again.
    public func giveBack(_ ticket: SlotTicket) {
        scheduler.run { [self] in
            guard let passage = passages[ticket.key] else { return }
            abandon(passage, RelayError(.cancelled, "The reply was ended while it waited for the model server."))
        }
    }

    /// Keeps a ticket in the store for the next owner of its reply. A running `take` throws. From any shard.
    public func forget(_ ticket: SlotTicket) {
        scheduler.run { [self] in
            forgotten.insert(ticket.key)
            guard let passage = passages[ticket.key] else { return }
            passage.end(RelayError(.cancelled, "The reply is handed over to another process."))
            passage.isWanted = false
            passage.isEntered = false
            passage.pause.end()
            if !passage.isBusy {
                passages[ticket.key] = nil
            }
        }
    }

    /// Tries no more what the store does not take: the process ends, and its tickets are worth nothing then. From any shard.
    public func end() {
        scheduler.run { [self] in
            isEnded = true
            alarm = nil
            for passage in passages.values {
                passage.pause.end()
            }
        }
    }

    private func slotCount(of upstream: String) -> Int? { current[upstream] ?? slots[upstream] }

    private func asItIsNow(_ ticket: SlotTicket) -> SlotTicket {
        var ticket = ticket
        ticket.slots = slotCount(of: ticket.upstream) ?? ticket.slots
        return ticket
    }

    // MARK: - The way of a ticket

    private func begin(_ ticket: SlotTicket, _ waiter: SlotPassage.Waiter) {
        let passage = passages[ticket.key] ?? SlotPassage(ticket, on: scheduler)
        passages[ticket.key] = passage
        slots[ticket.upstream] = ticket.slots
        guard !passage.isWanted else {
            waiter.end(RelayError(.internal, "The reply asked twice for one slot."))
            return
        }
        passage.ticket = ticket
        passage.waiter = waiter
        passage.isWanted = true
        passage.patience = StorePatience()
        drive(passage)
    }

    /// The reply does not want the slot any more, or waits no longer.
    private func abandon(_ passage: SlotPassage, _ reason: RelayError) {
        passage.end(reason)
        guard passage.isWanted else { return }
        passage.isWanted = false
        passage.isEntered = false
        passage.isToLeave = true
        passage.pause.end()
        drive(passage)
    }

    private func drive(_ passage: SlotPassage) {
        guard !passage.isBusy else { return }
        passage.isBusy = true
        scheduler.spawn { [self] in
            while true {
                if passage.isToLeave {
                    await leave(passage)
                } else if passage.isWanted, !passage.isEntered {
                    await enter(passage)
                } else {
                    break
                }
            }
            passage.isBusy = false
            if !passage.isWanted {
                passages[passage.ticket.key] = nil
            }
        }
    }

    private func enter(_ passage: SlotPassage) async {
        let key = passage.ticket.key
        entries += 1
        passage.entry = entries
        do throws(RelayError) {
            let entry = try await store.enter(asItIsNow(passage.ticket))
            passage.patience = StorePatience()
            noteOneLess(of: key.upstream)
            give(entry.granted)
            guard passage.isWanted, !passage.isToLeave else { return }
            passage.isEntered = true
            if let place = entry.place, passage.waiter != nil {
                passage.move(to: place, at: scheduler.now(), interval: limits.queuePositionPoll)
                lookSoon()
            } else {
                passage.end(nil)
            }
        } catch {
            mayBeDone()
            guard passage.isWanted, !passage.isEntered, !passage.isToLeave else { return }
            guard
                let pause = passage.patience.pause(after: error, within: limits.storeRetryTimeout, now: scheduler.now())
            else {
                abandon(passage, error)
                return
            }
            await passage.pause.wait(atMost: pause)
        }
    }

    private func leave(_ passage: SlotPassage) async {
        var pause = Duration.milliseconds(50)
        while passage.isToLeave {
            do throws(RelayError) {
                give(try await store.leave(asItIsNow(passage.ticket)))
                passage.isToLeave = false
            } catch {
                mayBeDone()
                // Whatever the reason: a ticket that stayed would hold its slot for as long as this process lives.
                guard !isEnded else { return passage.isToLeave = false }
                await passage.pause.wait(atMost: pause)
                pause = min(pause * 2, Self.longestPause)
            }
        }
    }

    /// Tickets of this process have slots.
    ///
    /// - Parameter known: how many had been sent when the store was asked: what it says is not about later ones.
    private func give(_ keys: [SlotKey], asOf known: Int = .max) {
        for key in keys {
            guard let passage = passages[key] else {
                giveUp(key)
                continue
            }
            guard passage.isWanted, !passage.isToLeave, passage.waiter != nil, passage.entry <= known else { continue }
            passage.isEntered = true
            passage.end(nil)
            passage.pause.end()
        }
    }

    /// Takes out a ticket that nobody here knows of: it was entered after it had been given up.
    private func giveUp(_ key: SlotKey) {
        guard !forgotten.contains(key) else { return }
        let ticket = SlotTicket(
            upstream: key.upstream, slots: slotCount(of: key.upstream) ?? 0, reply: key.reply, appID: "")
        let passage = SlotPassage(ticket, on: scheduler)
        passage.isToLeave = true
        passages[key] = passage
        drive(passage)
    }

    // MARK: - Looking

    /// A statement was given up that may yet be done: then there is a ticket that nobody here knows of.
    private func mayBeDone() {
        doubtedUntil = scheduler.now() + Self.doubt
        lookSoon()
    }

    private var isAnyoneWaiting: Bool { passages.values.contains { $0.isWaiting } }

    private func lookSoon(after pause: Duration? = nil) {
        guard !isEnded, !isLooking, let interval = pause ?? interval else { return }
        let time = scheduler.now() + UInt64(interval / .nanoseconds(1))
        // Whoever comes later must not put it off.
        guard nextLook.map({ time < $0 }) ?? true else { return }
        if alarm == nil {
            alarm = scheduler.makeAlarm { [unowned self] in
                nextLook = nil
                isLooking = true
                scheduler.spawn { await self.look() }
            }
        }
        nextLook = time
        alarm?.set(after: interval)
    }

    /// How long to wait for the next look; nothing if there is nothing to look for.
    private var interval: Duration? {
        if isAnyoneWaiting { return limits.slotPoll }
        return doubtedUntil > scheduler.now() ? limits.queuePositionPoll : nil
    }

    private func look() async {
        var pause: Duration?
        do throws(RelayError) {
            if .nanoseconds(scheduler.now() &- surveyedAt) >= limits.queuePositionPoll {
                surveyedAt = scheduler.now()
                try await survey()
            } else {
                let known = entries
                give(try await store.granted(), asOf: known)
            }
            patience = StorePatience()
        } catch {
            pause = patience.pause(after: error, within: limits.storeRetryTimeout, now: scheduler.now())
            if pause == nil {
                patience = StorePatience()
                for passage in passages.values where passage.isWaiting {
                    abandon(passage, error)
                }
            }
        }
        isLooking = false
        lookSoon(after: pause)
    }

    private func survey() async throws(RelayError) {
        let waiting = passages.values.filter(\.isWaiting)
        let upstreams = Set(waiting.map(\.ticket.upstream)).sorted()
        let known = entries
        let survey = try await store.survey(upstreams)
        let now = scheduler.now()
        give(survey.granted, asOf: known)
        for (key, place) in survey.places {
            if let passage = passages[key] {
                passage.move(to: place, at: now, interval: limits.queuePositionPoll)
            } else {
                giveUp(key)
            }
        }
        for passage in waiting where passage.isWaiting && survey.places[passage.ticket.key] == nil {
            // Somebody has removed it: its reply is gone, or it begins anew.
            passage.isEntered = false
            drive(passage)
        }
        for upstream in upstreams {
            guard let slots = slotCount(of: upstream), survey.running[upstream, default: 0] < slots else { continue }
            give(try await store.grant(at: upstream, slots: slots))
        }
    }
}
