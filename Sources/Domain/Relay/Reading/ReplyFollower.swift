import ChatterdBasics

/// Reads a reply that another shard or process generates, once for all its readers on this shard. Confined to its shard.
///
/// While readers are attached, the follower reads pages from its position on, on a signal or once per tick, and gives all of them the
/// same lines. Slow readers read pages of their own. `Hooks.pull` provides an ending for a reply of a dead process.
final class ReplyFollower: ReplySource {
    /// The functions of the shard that a follower uses.
    struct Hooks {
        /// Reads a page of the reply. An empty page without an ending means that there is no more content yet. With a version the page of a
        /// reply that runs has its steps too, if they have another one.
        var pull: (ReplyPosition, _ steps: String?) async throws(RelayError) -> ReplyPage
        /// Signals the process that generates the reply that the reply has readers here. Called every four seconds.
        var keepAlive: () -> Void = {}
        /// Called when the first reader arrives, and when the last one leaves.
        var onPresence: (_ isRead: Bool) -> Void = { _ in }
        /// Called when the follower has had no readers for ten seconds. The shard may release it.
        var onIdle: () -> Void = {}
    }

    /// The end of the content that the follower has read.
    private(set) var position: ReplyPosition
    /// The interval at which the follower polls; `nil` if it gets signals instead.
    var tick: Duration? {
        didSet { schedulePull() }
    }

    /// The size in bytes from which on a page may not be the last one.
    private let fullPage: Int
    private static let keepAliveInterval = Duration.seconds(4)
    private static let idleTime = Duration.seconds(10)

    private let hooks: Hooks
    private let lines: ReplyLines
    private let scheduler: Scheduler
    private let limits: RelayLimits
    private var audience = ReplyAudience()
    /// Whether a reader follows the steps of the reply, or may do so.
    var followsSteps = false
    private var isPulling = false
    /// Whether there may be unread content.
    private var mayHaveMore = true
    /// The time of the last read.
    private var pulledAt: Instant?
    private var retry = StoreRetry()
    /// Whether the follower waits for an unavailable store.
    private var isWaitingForStore = false
    private var pullAlarm: (any Alarm)?
    private var presenceAlarm: (any Alarm)?
    private var presenceSentAt: Instant?

    /// Creates a follower at the position of its first reader.
    init(
        from position: ReplyPosition, tick: Duration?, lines: ReplyLines, hooks: Hooks,
        scheduler: Scheduler, limits: RelayLimits, fullPage: Int = 32_768
    ) {
        self.position = position
        self.position.isEnd = false
        self.tick = tick
        self.lines = lines
        self.hooks = hooks
        self.scheduler = scheduler
        self.limits = limits
        self.fullPage = fullPage
        pullAlarm = scheduler.makeAlarm { [unowned self] in
            isWaitingForStore = false
            pull()
        }
        presenceAlarm = scheduler.makeAlarm { [unowned self] in sendPresence() }
    }

    /// Subscribes a listener. The listener gets no call before this returns.
    func subscribe(_ listener: any ReplyListener, from position: ReplyPosition) -> ReplySubscription {
        let subscription = ReplySubscription(
            listener, from: position, of: self, lines: lines, scheduler: scheduler, limits: limits)
        followsSteps = followsSteps || subscription.followsSteps
        adopt(readers: 1)
        subscription.start()
        return subscription
    }

    /// Counts readers that a reply hands over. The readers attach themselves later.
    func adopt(readers count: Int) {
        let isFirst = audience.count == 0
        audience.count += count
        if isFirst {
            hooks.onPresence(true)
            sendPresence()
        }
    }

    /// Reads the new content of the reply.
    func signal() {
        mayHaveMore = true
        if !isWaitingForStore {
            pull()
        }
    }

    /// Reads at once, even during a wait for an unavailable store.
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

    /// No action: a follower pauses no model. A reader that is still full when new content arrives falls behind.
    func drained(_ subscription: ReplySubscription) {}

    func left(_ subscription: ReplySubscription) {
        audience.count -= 1
        if audience.count == 0 {
            hooks.onPresence(false)
            presenceAlarm?.set(after: Self.idleTime)
        }
    }

    func page(from position: ReplyPosition) async throws(RelayError) -> ReplyPage {
        guard followsSteps else { return try await hooks.pull(position, nil) }
        var page = try await hooks.pull(position, audience.steps?.version ?? "")
        page.steps = page.steps ?? audience.steps
        return page
    }

    /// Signals the generating process that the reply is read, or the shard that it is not.
    private func sendPresence() {
        guard audience.count > 0 else {
            hooks.onIdle()
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
            hooks.keepAlive()
        }
    }

    // MARK: - Reading pages

    /// Reads at once, or at the next tick.
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
            let start = position
            do throws(RelayError) {
                let page = try await hooks.pull(start, followsSteps ? audience.steps?.version ?? "" : nil)
                pulledAt = scheduler.now()
                retry = StoreRetry()
                guard start == position else {
                    // New readers have moved the follower to another position.
                    mayHaveMore = true
                    continue
                }
                send(page)
                if page.end.total - page.start.total >= fullPage {
                    mayHaveMore = true
                }
            } catch {
                guard let pause = retry.delay(after: error, within: limits.storeRetryTimeout, now: scheduler.now())
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

    /// Sends a page to all attached readers. Each line is encoded once.
    private func send(_ page: ReplyPage) {
        if page.start != position {
            for member in audience.members.elements {
                member.receive(resetTo: page.start)
            }
        }
        position = page.end
        if let steps = page.steps {
            audience.setSteps(steps)
        }
        if page.queuePosition != audience.queuePosition {
            audience.setQueuePosition(page.queuePosition)
        }
        var line = ByteBuffer()
        var cursor = page.start
        while !audience.isEmpty, let end = lines.next(in: page, after: cursor, into: &line) {
            for member in audience.members.elements where !member.skips {
                if member.isFull {
                    member.fallBehind(in: page)
                } else {
                    member.receive(PositionedLines(line.bytes, to: end))
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
    /// The minimum of two positions. If the attempts differ, the other position counts.
    fileprivate func common(with other: ReplyPosition) -> ReplyPosition {
        guard attempt == other.attempt else { return other }
        return ReplyPosition(
            attempt: attempt, text: min(text, other.text), thinking: min(thinking, other.thinking),
            toolCalls: min(toolCalls, other.toolCalls))
    }
}

/// The source of live lines for the subscriptions of a shard: the reply itself on its own shard, a follower elsewhere. Confined to its
/// shard.
///
/// A source counts its subscriptions from their creation to `left`, whether they are attached or behind.
protocol ReplySource: AnyObject {
    /// The end of the content that the source has sent.
    var position: ReplyPosition { get }
    /// Attaches a reader whose position is at or beyond `position`. It receives all later content.
    func attach(_ subscription: ReplySubscription)
    /// Detaches a reader that falls behind. No effect if it is not attached.
    func detach(_ subscription: ReplySubscription)
    /// An attached reader was full, and can receive more.
    func drained(_ subscription: ReplySubscription)
    /// A reader has left, or has received the end; it is already detached. Called once for each subscription.
    func left(_ subscription: ReplySubscription)
    /// Reads a page from a position on, from memory or from the store.
    func page(from position: ReplyPosition) async throws(RelayError) -> ReplyPage
}
