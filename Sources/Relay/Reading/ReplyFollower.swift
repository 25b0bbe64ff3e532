import ChatterdBasics

/// Reads a reply that is made on another shard or by another process, once for all its readers here. Confined to its shard.
///
/// While readers are attached it reads on from where it stands, when it is poked or once per tick, and gives them the same
/// lines; readers who do not keep up read pages of their own. A reply that was given up comes with an ending: whoever gives the
/// pages sees to that.
final class ReplyFollower: ReplySource {
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
        didSet { schedulePull() }
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
    private var isPulling = false
    /// Whether there may be more than was read last.
    private var mayHaveMore = true
    /// When it read last.
    private var pulledAt: Instant?
    private var retry = StoreRetry()
    /// Whether it waits for a store that is away.
    private var isWaitingForStore = false
    private var pullAlarm: (any Alarm)?
    private var presenceAlarm: (any Alarm)?
    private var presenceSentAt: Instant?

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
            isWaitingForStore = false
            pull()
        }
        presenceAlarm = scheduler.makeAlarm { [unowned self] in sendPresence() }
    }

    /// Takes a reader in; it hears nothing before this returns.
    func subscribe(_ reader: any ReplyReader, from position: ReplyPosition) -> ReplySubscription {
        let subscription = ReplySubscription(
            reader, from: position, of: self, lines: lines, scheduler: scheduler, limits: limits)
        adopt(readers: 1)
        subscription.start()
        return subscription
    }

    /// Counts readers that a reply passes on and that attach themselves.
    func adopt(readers more: Int) {
        let isFirst = audience.count == 0
        audience.count += more
        if isFirst {
            surroundings.onPresence(true)
            sendPresence()
        }
    }

    /// There is more of the reply than was read last.
    func signal() {
        mayHaveMore = true
        if !isWaitingForStore {
            pull()
        }
    }

    /// Reads at once, even if it waits for a store that is away.
    func pullNow() {
        isWaitingForStore = false
        signal()
    }

    // MARK: - Readers

    func attach(_ subscription: ReplySubscription) {
        let start = audience.isEmpty ? subscription.position : position.common(with: subscription.position)
        audience.attach(subscription)
        if start != position {
            position = start
            for member in audience.members.elements {
                member.sourceMoved(to: start)
            }
        }
        schedulePull()
    }

    func detach(_ subscription: ReplySubscription) {
        audience.detach(subscription)
    }

    /// A reader that is still full when there is more falls behind then; there is nothing to resume.
    func drained(_ subscription: ReplySubscription) {}

    func left(_ subscription: ReplySubscription) {
        audience.count -= 1
        if audience.count == 0 {
            surroundings.onPresence(false)
            presenceAlarm?.set(after: Self.idleTime)
        }
    }

    func page(from position: ReplyPosition) async throws(RelayError) -> ReplyPage {
        try await surroundings.pull(position)
    }

    /// Tells whoever makes the reply that it is read, or the owner that it is not.
    private func sendPresence() {
        guard audience.count > 0 else {
            surroundings.onIdle()
            return
        }
        guard !position.isEnd else { return }
        let now = scheduler.now()
        let next = presenceSentAt.map { Self.keepAliveInterval - (now - $0) } ?? .zero
        if next > .zero {
            presenceAlarm?.set(after: next)
        } else {
            presenceSentAt = now
            presenceAlarm?.set(after: Self.keepAliveInterval)
            surroundings.keepAlive()
        }
    }

    // MARK: - Reading on

    /// Reads at once, or when the tick comes.
    private func schedulePull() {
        guard !isWaitingForStore, !audience.isEmpty else { return }
        guard let tick, let pulledAt, !mayHaveMore else {
            mayHaveMore = mayHaveMore || tick == nil
            pull()
            return
        }
        pullAlarm?.set(after: max(tick - (scheduler.now() - pulledAt), .zero))
    }

    private func pull() {
        guard !isPulling, !audience.isEmpty, !position.isEnd else { return }
        isPulling = true
        mayHaveMore = true
        scheduler.spawn(with: self) { await $0.pullPages() }
    }

    private func pullPages() async {
        while mayHaveMore, !audience.isEmpty, !position.isEnd {
            mayHaveMore = false
            let asked = position
            do throws(RelayError) {
                let page = try await surroundings.pull(asked)
                pulledAt = scheduler.now()
                retry = StoreRetry()
                guard asked == position else {
                    // Readers have come meanwhile who stand elsewhere.
                    mayHaveMore = true
                    continue
                }
                send(page)
                if page.end.total - page.start.total >= fullPage {
                    mayHaveMore = true
                }
            } catch {
                guard let pause = retry.delay(after: error, within: limits.storePatience, now: scheduler.now())
                else {
                    retry = StoreRetry()
                    fail(error)
                    break
                }
                isWaitingForStore = true
                isPulling = false
                pullAlarm?.set(after: pause)
                return
            }
        }
        isPulling = false
        if tick != nil, !position.isEnd {
            schedulePull()
        }
    }

    /// Gives a page to all who are attached; its lines are made once.
    private func send(_ page: ReplyPage) {
        if page.start != position {
            for member in audience.members.elements {
                member.receive(resetTo: page.start)
            }
        }
        position = page.end
        if page.queuePlace != audience.queuePosition {
            audience.setQueuePosition(page.queuePlace)
        }
        var line = ByteBuffer()
        var cursor = page.start
        while !audience.isEmpty, let end = lines.next(in: page, after: cursor, into: &line) {
            for member in audience.members.elements where !member.skips {
                if member.isFull {
                    member.fallBehind(in: page)
                } else {
                    member.receive(line: line.bytes, to: end)
                }
            }
            cursor = end
        }
        for member in audience.members.elements where member.skips {
            member.receive(page: page)
        }
        if let ending = page.ending {
            let ending = lines.ending(ending)
            for member in audience.members.elements {
                member.receive(ending: ending, at: position)
            }
        }
    }

    private func fail(_ error: RelayError) {
        for member in audience.members.elements {
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
