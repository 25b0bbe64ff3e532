import ChatterdBasics
import ChatterdChat

/// The tickets of this process: enters and removes them, and polls the store while some wait. Confined to the queue's shard.
///
/// A ticket has a task of its own while the store does not agree with `isWanted`.
final class SlotTickets {
    /// The time in which a statement may still be committed after its confirmation was lost.
    private static let unconfirmedLifetime = Duration.seconds(30)
    /// The longest delay between attempts to remove a ticket.
    private static let longestDelay = Duration.seconds(2)

    private let store: any SlotStore
    private let limits: RelayLimits
    private let scheduler: Scheduler
    private let admissions: SlotAdmissions
    private var waiters: [SlotKey: SlotWaiter] = [:]
    /// The number of slots of each model server according to its last ticket.
    private var slots: [String: Int] = [:]
    /// The configured number of slots of each model server, where it is known.
    var configured: [String: Int] = [:]

    /// The number of tickets that were sent to the store.
    private var entries = 0
    private var alarm: (any Alarm)?
    private var nextPoll: Instant?
    private var isPolling = false
    private var lastSurvey: Instant?
    private var unconfirmedUntil = Instant(nanoseconds: 0)
    private var retry = StoreRetry()
    private var isEnded = false
    /// The tickets that the next owners of their replies will use. The survey must not remove them.
    private var kept: Set<SlotKey> = []

    init(store: any SlotStore, limits: RelayLimits, scheduler: Scheduler, admissions: SlotAdmissions) {
        self.store = store
        self.limits = limits
        self.scheduler = scheduler
        self.admissions = admissions
    }

    // MARK: - Requests of the replies

    /// Enters the ticket of a reply that wants a slot.
    func acquire(_ ticket: SlotTicket, for caller: SlotWaiter.Caller) {
        let waiter = waiters[ticket.key] ?? SlotWaiter(ticket, on: scheduler)
        waiters[ticket.key] = waiter
        slots[ticket.upstream] = ticket.slots
        guard !waiter.isWanted else {
            caller.resume(RelayError(.internal, "The reply asked twice for one slot."))
            return
        }
        waiter.ticket = ticket
        waiter.caller = caller
        waiter.isWanted = true
        waiter.retry = StoreRetry()
        work(on: waiter)
    }

    /// Removes the ticket of a reply that no longer wants the slot.
    func release(_ ticket: SlotTicket) {
        guard let waiter = waiters[ticket.key] else { return }
        abandon(waiter, RelayError(.cancelled, "The reply was ended while it waited for the model server."))
    }

    /// Keeps a ticket in the store for the next owner of its reply.
    func keep(_ ticket: SlotTicket) {
        kept.insert(ticket.key)
        guard let waiter = waiters[ticket.key] else { return }
        waiter.resume(RelayError(.cancelled, "The reply is handed over to another process."))
        waiter.isWanted = false
        waiter.isEntered = false
        waiter.pause.end()
        if !waiter.isBusy {
            waiters[ticket.key] = nil
        }
    }

    /// Stops all retries.
    func end() {
        isEnded = true
        alarm = nil
        for waiter in waiters.values {
            waiter.pause.end()
        }
    }

    /// The tickets by the names of their model servers.
    var figures: [String: SlotFigures] {
        waiters.values.reduce(into: [:]) { figures, waiter in
            guard waiter.isEntered else { return }
            if waiter.isWaiting {
                figures[waiter.ticket.upstream, default: SlotFigures()].waiting += 1
            } else {
                figures[waiter.ticket.upstream, default: SlotFigures()].used += 1
            }
        }
    }

    private func slotCount(of upstream: String) -> Int? { configured[upstream] ?? slots[upstream] }

    private func withCurrentSlots(_ ticket: SlotTicket) -> SlotTicket {
        var ticket = ticket
        ticket.slots = slotCount(of: ticket.upstream) ?? ticket.slots
        return ticket
    }

    // MARK: - One ticket

    /// Ends the wait for a ticket, and removes it.
    private func abandon(_ waiter: SlotWaiter, _ reason: RelayError) {
        waiter.resume(reason)
        guard waiter.isWanted else { return }
        waiter.isWanted = false
        waiter.isEntered = false
        waiter.mustLeave = true
        waiter.pause.end()
        work(on: waiter)
    }

    /// Enters or removes the ticket until the store agrees with `isWanted`.
    private func work(on waiter: SlotWaiter) {
        guard !waiter.isBusy else { return }
        waiter.isBusy = true
        scheduler.spawn(with: (self, waiter)) { tickets, waiter in await tickets.finishWork(on: waiter) }
    }

    private func finishWork(on waiter: SlotWaiter) async {
        while true {
            if waiter.mustLeave {
                await leave(waiter)
            } else if waiter.isWanted, !waiter.isEntered {
                await enter(waiter)
            } else {
                break
            }
        }
        waiter.isBusy = false
        if !waiter.isWanted {
            waiters[waiter.ticket.key] = nil
        }
    }

    private func enter(_ waiter: SlotWaiter) async {
        let key = waiter.ticket.key
        entries += 1
        waiter.entry = entries
        do throws(RelayError) {
            let entry = try await store.enter(withCurrentSlots(waiter.ticket))
            waiter.retry = StoreRetry()
            admissions.remove(at: key.upstream)
            grant(entry.granted)
            guard waiter.isWanted, !waiter.mustLeave else { return }
            waiter.isEntered = true
            if let position = entry.position, waiter.caller != nil {
                waiter.report(position, at: scheduler.now(), interval: limits.slotSurveyInterval)
                schedulePoll()
            } else {
                waiter.resume(nil)
            }
        } catch {
            markPossiblyCommitted()
            guard waiter.isWanted, !waiter.isEntered, !waiter.mustLeave else { return }
            guard let delay = waiter.retry.delay(after: error, within: limits.storeRetryTimeout, now: scheduler.now())
            else {
                abandon(waiter, error)
                return
            }
            await waiter.pause.wait(atMost: delay)
        }
    }

    private func leave(_ waiter: SlotWaiter) async {
        var backoff = Backoff(first: .milliseconds(50), longest: Self.longestDelay)
        while waiter.mustLeave {
            do throws(RelayError) {
                grant(try await store.leave(withCurrentSlots(waiter.ticket)))
                waiter.mustLeave = false
            } catch {
                markPossiblyCommitted()
                // Retry after any error: a remaining ticket would hold its slot for as long as this process lives.
                guard !isEnded else { return waiter.mustLeave = false }
                await waiter.pause.wait(atMost: backoff.next())
            }
        }
    }

    /// Resumes the replies whose tickets have slots.
    ///
    /// - Parameter known: the number of entries that were sent when the store was asked; its answer does not cover later ones.
    private func grant(_ keys: [SlotKey], asOf known: Int = .max) {
        for key in keys {
            guard let waiter = waiters[key] else {
                removeUnknown(key)
                continue
            }
            guard waiter.isWanted, !waiter.mustLeave, waiter.caller != nil, waiter.entry <= known else { continue }
            waiter.isEntered = true
            waiter.resume(nil)
            waiter.pause.end()
        }
    }

    /// Removes a ticket that this process does not know: its entry was committed after the reply had stopped waiting.
    private func removeUnknown(_ key: SlotKey) {
        guard !kept.contains(key) else { return }
        let ticket = SlotTicket(
            upstream: key.upstream, slots: slotCount(of: key.upstream) ?? 0, reply: key.reply, owner: "")
        let waiter = SlotWaiter(ticket, on: scheduler)
        waiter.mustLeave = true
        waiters[key] = waiter
        work(on: waiter)
    }

    // MARK: - Polling

    /// Polls for a while, because a failed statement may still be committed. The store may then have an unknown ticket.
    private func markPossiblyCommitted() {
        unconfirmedUntil = scheduler.now() + Self.unconfirmedLifetime
        schedulePoll()
    }

    private func schedulePoll(after delay: Duration? = nil) {
        guard !isEnded, !isPolling, let interval = delay ?? pollInterval else { return }
        let time = scheduler.now() + interval
        // Never postpone an earlier alarm.
        guard nextPoll.map({ time < $0 }) ?? true else { return }
        if alarm == nil {
            alarm = scheduler.makeAlarm { [unowned self] in
                nextPoll = nil
                isPolling = true
                scheduler.spawn(with: self) { await $0.poll() }
            }
        }
        nextPoll = time
        alarm?.set(after: interval)
    }

    /// The time to the next poll; `nil` if no poll is needed.
    private var pollInterval: Duration? {
        if waiters.values.contains(where: \.isWaiting) { return limits.slotPollInterval }
        return unconfirmedUntil > scheduler.now() ? limits.slotSurveyInterval : nil
    }

    private func poll() async {
        var delay: Duration?
        do throws(RelayError) {
            let now = scheduler.now()
            if lastSurvey.map({ now - $0 >= limits.slotSurveyInterval }) ?? true {
                lastSurvey = now
                try await survey()
            } else {
                let known = entries
                grant(try await store.granted(), asOf: known)
            }
            retry = StoreRetry()
        } catch {
            delay = retry.delay(after: error, within: limits.storeRetryTimeout, now: scheduler.now())
            if delay == nil {
                retry = StoreRetry()
                for waiter in waiters.values where waiter.isWaiting {
                    abandon(waiter, error)
                }
            }
        }
        isPolling = false
        schedulePoll(after: delay)
    }

    private func survey() async throws(RelayError) {
        let waiting = waiters.values.filter(\.isWaiting)
        let upstreams = Set(waiting.map(\.ticket.upstream)).sorted()
        let known = entries
        let snapshot = try await store.survey(upstreams)
        let now = scheduler.now()
        grant(snapshot.granted, asOf: known)
        for (key, position) in snapshot.positions {
            if let waiter = waiters[key] {
                waiter.report(position, at: now, interval: limits.slotSurveyInterval)
            } else {
                removeUnknown(key)
            }
        }
        for waiter in waiting where waiter.isWaiting && snapshot.positions[waiter.ticket.key] == nil {
            // The ticket was removed: its reply is gone, or starts again.
            waiter.isEntered = false
            work(on: waiter)
        }
        for upstream in upstreams {
            guard let slots = slotCount(of: upstream), snapshot.running[upstream, default: 0] < slots else { continue }
            grant(try await store.grant(at: upstream, slots: slots))
        }
    }
}
