import ChatterdBasics

/// Reads a reply that is made on another shard or by another process, once for all its readers here. Confined to its shard.
///
/// While readers are attached it reads on from where it stands, when it is poked or once per tick, and gives them the same
/// lines; readers who do not keep up read pages of their own. A reply that was given up comes with an ending: whoever gives the
/// pages sees to that.
final class ReplyFollower: ReplySource, @unchecked Sendable {
    /// What a follower needs of the shard that it is on.
    struct Surroundings {
        /// Reads on in the reply; an empty page without an ending says that there is no more yet.
        var pull: (ReplyPosition) async throws(RelayError) -> ReplyPage
        /// Tells the process that makes the reply that it is read here; called every four seconds while it is.
        var keepAlive: () -> Void = {}
        /// Tells that the first reader has come, or the last one has left.
        var onPresence: (_ isRead: Bool) -> Void = { _ in }
        /// Tells that there have been no readers for a while; it may be let go.
        var onIdle: () -> Void = {}
    }

    /// How far it has read.
    private(set) var position: ReplyPosition
    /// How often it looks for more by itself; nothing if it is poked when there is more.
    var tick: Duration? {
        didSet { pullSoon() }
    }

    /// A page of so many bytes may not have been all there is.
    private let fullPage: Int
    private static let keepAliveInterval = Duration.seconds(4)
    private static let idleTime = Duration.seconds(10)

    private let surroundings: Surroundings
    private let lines: ReplyLines
    private let scheduler: Scheduler
    private let limits: RelayLimits
    private var audience = ReplyAudience()
    /// The readers, attached or not.
    private var readers = 0
    private var isPulling = false
    /// Whether there may be more than was read last.
    private var isPoked = true
    /// When it read last.
    private var pulledAt: UInt64?
    private var patience = StorePatience()
    /// Whether it waits for a store that is away.
    private var isPausing = false
    private var pullAlarm: (any Alarm)?
    private var presenceAlarm: (any Alarm)?
    private var presenceToldAt: UInt64?

    /// Makes a follower that stands where its first reader does.
    init(
        from position: ReplyPosition, tick: Duration?, lines: ReplyLines, surroundings: Surroundings,
        scheduler: Scheduler, limits: RelayLimits, fullPage: Int = 32_768
    ) {
        self.position = position
        self.position.isEnd = false
        self.tick = tick
        self.lines = lines
        self.surroundings = surroundings
        self.scheduler = scheduler
        self.limits = limits
        self.fullPage = fullPage
        pullAlarm = scheduler.makeAlarm { [unowned self] in
            isPausing = false
            pull()
        }
        presenceAlarm = scheduler.makeAlarm { [unowned self] in tellPresence() }
    }

    /// Takes a reader in; it hears nothing before this returns.
    func subscribe(_ reader: any ReplyReader, from position: ReplyPosition) -> ReplySubscription {
        let subscription = ReplySubscription(
            reader, from: position, of: self, lines: lines, scheduler: scheduler, limits: limits)
        takeOver(readers: 1)
        subscription.start()
        return subscription
    }

    /// Counts readers that a reply passes on and that attach themselves.
    func takeOver(readers more: Int) {
        let isFirst = readers == 0
        readers += more
        if isFirst {
            surroundings.onPresence(true)
            tellPresence()
        }
    }

    /// There is more of the reply than was read last.
    func poke() {
        isPoked = true
        if !isPausing {
            pull()
        }
    }

    /// Reads at once, even if it waits for a store that is away.
    func lookNow() {
        isPausing = false
        poke()
    }

    // MARK: - Readers

    func attach(_ subscription: ReplySubscription) {
        let start = audience.isEmpty ? subscription.position : position.common(with: subscription.position)
        audience.insert(subscription)
        if let place = audience.queuePlace {
            subscription.receiveSoon(place: place)
        }
        if start != position {
            position = start
            for member in audience.members {
                member.sourceMoved(to: start)
            }
        }
        pullSoon()
    }

    func detach(_ subscription: ReplySubscription) {
        audience.remove(subscription)
    }

    /// A reader that is still full when there is more falls behind then; there is nothing to resume.
    func drained(_ subscription: ReplySubscription) {}

    func left(_ subscription: ReplySubscription) {
        readers -= 1
        if readers == 0 {
            surroundings.onPresence(false)
            presenceAlarm?.set(after: Self.idleTime)
        }
    }

    func page(from position: ReplyPosition) async throws(RelayError) -> ReplyPage {
        try await surroundings.pull(position)
    }

    /// Tells whoever makes the reply that it is read, or the owner that it is not.
    private func tellPresence() {
        guard readers > 0 else {
            surroundings.onIdle()
            return
        }
        guard !position.isEnd else { return }
        let now = scheduler.now()
        let next = presenceToldAt.map { Self.keepAliveInterval - .nanoseconds(now &- $0) } ?? .zero
        if next > .zero {
            presenceAlarm?.set(after: next)
        } else {
            presenceToldAt = now
            presenceAlarm?.set(after: Self.keepAliveInterval)
            surroundings.keepAlive()
        }
    }

    // MARK: - Reading on

    /// Reads at once, or when the tick comes.
    private func pullSoon() {
        guard !isPausing, !audience.isEmpty else { return }
        guard let tick, let pulledAt, !isPoked else {
            isPoked = isPoked || tick == nil
            pull()
            return
        }
        pullAlarm?.set(after: max(tick - .nanoseconds(scheduler.now() &- pulledAt), .zero))
    }

    private func pull() {
        guard !isPulling, !audience.isEmpty, !position.isEnd else { return }
        isPulling = true
        isPoked = true
        scheduler.spawn { await self.pullPages() }
    }

    private func pullPages() async {
        while isPoked, !audience.isEmpty, !position.isEnd {
            isPoked = false
            let asked = position
            do throws(RelayError) {
                let page = try await surroundings.pull(asked)
                pulledAt = scheduler.now()
                patience = StorePatience()
                guard asked == position else {
                    // Readers have come meanwhile who stand elsewhere.
                    isPoked = true
                    continue
                }
                give(page)
                if page.end.total - page.start.total >= fullPage {
                    isPoked = true
                }
            } catch {
                guard let pause = patience.pause(after: error, within: limits.storeRetryTimeout, now: scheduler.now())
                else {
                    patience = StorePatience()
                    fail(error)
                    break
                }
                isPausing = true
                isPulling = false
                pullAlarm?.set(after: pause)
                return
            }
        }
        isPulling = false
        if tick != nil, !position.isEnd {
            pullSoon()
        }
    }

    /// Gives a page to all who are attached; its lines are made once.
    private func give(_ page: ReplyPage) {
        if page.start != position {
            for member in audience.members {
                member.receive(resetTo: page.start)
            }
        }
        position = page.end
        if page.queuePlace != audience.queuePlace {
            audience.queuePlace = page.queuePlace
            for member in audience.members {
                if let place = page.queuePlace { member.receive(place: place) }
            }
        }
        var line = ByteBuffer()
        var cursor = page.start
        while !audience.isEmpty, let end = lines.next(in: page, after: cursor, into: &line) {
            for member in audience.members where !member.skips {
                if member.isFull {
                    member.fallBehind(in: page)
                } else {
                    member.receive(line: line.bytes, to: end)
                }
            }
            cursor = end
        }
        for member in audience.members where member.skips {
            member.receive(page: page)
        }
        if let ending = page.ending {
            let ending = lines.ending(ending)
            for member in audience.members {
                member.receive(ending: ending, at: position)
            }
        }
    }

    private func fail(_ error: RelayError) {
        for member in audience.members {
            member.receive(error: error)
        }
    }
}

extension ReplyPosition {
    /// The furthest place that neither of two positions is before; the other's attempt counts.
    fileprivate func common(with other: ReplyPosition) -> ReplyPosition {
        guard attempt == other.attempt else { return other }
        return ReplyPosition(
            attempt: attempt, text: min(text, other.text), thinking: min(thinking, other.thinking),
            toolCalls: min(toolCalls, other.toolCalls))
    }
}
