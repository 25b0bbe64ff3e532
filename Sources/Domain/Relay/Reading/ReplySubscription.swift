import ChatterdBasics
import ChatterdChat

/// One reader of one reply. A reader that keeps up receives new lines as they arrive; a slow one catches up page by page. Confined to
/// its shard.
public final class ReplySubscription: IndexedSetElement {
    private enum State {
        /// The subscription is attached to the source, and receives each new line.
        case live
        /// The subscription reads pages, in a task or after a pause, until it reaches the source's position.
        case catchingUp
        /// The subscription must catch up, but the reader is full.
        case waiting
        /// The reader has received the end or an error, or has left.
        case over
    }

    /// The state of a slow reader. Most readers need none.
    private final class Lag {
        /// The page that is not delivered completely, because the reader is full.
        var page: ReplyPage?
        var retry = StoreRetry()
        var alarm: (any Alarm)?
    }

    /// The steps of a reader that follows them.
    private final class StepCourse {
        var known = KnownSteps()
        var last: ReplySteps?
        /// The steps that the reader does not have yet: it is full, or gets them soon.
        var waiting: ReplySteps?
    }

    /// The end of the content that the reader has received.
    public private(set) var position: ReplyPosition
    /// Whether the reader cannot receive more for now.
    private(set) var isFull = false
    /// The index in the audience of the source.
    public var setIndex: Int?

    private var state = State.waiting
    /// Whether the reader's position is beyond the source's one. The reader skips the lines that it has.
    private var isAhead = false
    private var listener: (any ReplyListener)?
    private var source: (any ReplySource)?
    private var lag: Lag?
    private let course: StepCourse?
    private let lines: ReplyLines
    private let scheduler: Scheduler
    /// The time of retries while the store is unavailable, and the interval of polls.
    private let storeRetryTimeout: Duration
    private let tick: Duration

    /// Creates the subscription of a listener. The listener gets no call before `start`.
    init(
        _ listener: any ReplyListener, from position: ReplyPosition, of source: any ReplySource, lines: ReplyLines,
        scheduler: Scheduler, limits: RelayLimits
    ) {
        self.listener = listener
        self.position = position
        self.position.isEnd = false
        self.source = source
        self.lines = lines
        self.scheduler = scheduler
        course = listener.followsSteps ? StepCourse() : nil
        storeRetryTimeout = limits.storeRetryTimeout
        tick = limits.journalTick
    }

    /// Whether the reader's position is beyond the source's one.
    var skips: Bool { isAhead }

    /// Whether the reader gets the steps of the reply.
    var followsSteps: Bool { course != nil }

    /// Starts the subscription. The listener gets no call before this returns.
    func start() {
        guard state == .waiting, let source else { return }
        if !source.position.isEnd, position.covers(source.position) {
            attach(to: source)
        } else {
            beginCatchingUp()
        }
    }

    // MARK: - The reader

    /// The reader was full, and can receive more.
    public func listenerIsReady() {
        guard isFull else { return }
        isFull = false
        sendWaitingSteps()
        switch state {
        case .live: source?.drained(self)
        case .waiting: beginCatchingUp()
        case .catchingUp, .over: break
        }
    }

    /// Ends the subscription after its reader has gone.
    public func cancel() {
        finish()
    }

    private func finish() {
        guard state != .over, let source else { return }
        if state == .live {
            source.detach(self)
        }
        state = .over
        lag?.alarm?.cancel()
        // Reader and source have references to this object. Without this, none of the three would ever be released.
        self.source = nil
        listener = nil
        lag?.page = nil
        source.left(self)
    }

    // MARK: - The source

    /// Sends new lines to the reader, unchanged: all of them, or those that it does not have.
    ///
    /// - Returns: whether the reader can receive more. If not, the source calls `fallBehind` or pauses the model.
    @discardableResult
    func receive(_ lines: PositionedLines) -> Bool {
        guard state == .live, let listener else { return true }
        var first = 0
        while isAhead {
            skip(to: lines.position(after: first))
            first += 1
            guard state == .live, first < lines.count else { return true }
        }
        guard !isFull else {
            // The reader gets the lines from a page as soon as it can take more. One read of a model server may produce very many
            // lines.
            fallBehind()
            return true
        }
        // The text of a round follows the calls of the round before it.
        if let course, course.waiting != nil { sendWaitingSteps() }
        position = lines.end
        if !listener.receive(first == 0 ? lines : lines.from(first)) {
            isFull = true
        }
        return !isFull
    }

    /// Sends the missing part of a page that the source has read.
    func receive(page: ReplyPage) {
        guard state == .live else { return }
        var end = page.end
        end.isEnd = false
        isAhead = position != end && position.covers(end)
        if page.ending == nil, isAhead { return }
        guard position.covers(page.start), end.covers(position) else {
            // The page has another attempt, or the reply has ended and is shorter than the reader's position.
            fallBehind()
            return
        }
        if !deliver(page), state == .live {
            fallBehind(in: page)
        }
    }

    /// Sends the ending to the reader, unchanged. `end` includes the content of the last event.
    func receive(ending: ReplyEnding, at end: ReplyPosition) {
        guard state == .live else { return }
        if isAhead {
            // A page shows the content that the reader lacks.
            fallBehind()
        } else {
            send(lines.verbatim(ending), at: end)
        }
    }

    /// The reply restarts. The reader's content is invalid.
    func receive(resetTo start: ReplyPosition) {
        guard state == .live else { return }
        isAhead = false
        startOver(at: start)
    }

    /// The reply waits for a slot of its model server.
    func receive(queuePosition: QueuePosition) {
        guard state == .live else { return }
        listener?.isQueued(at: queuePosition)
    }

    /// Sends the queue position soon, because a listener gets no call before it has its subscription.
    func receiveSoon(queuePosition: QueuePosition) {
        scheduler.run(with: self) { $0.receive(queuePosition: queuePosition) }
    }

    /// The reply has other steps.
    func receive(_ steps: ReplySteps) {
        guard let course, state != .over, steps !== course.last else { return }
        if !steps.version.isEmpty, steps.version == course.last?.version { return }
        course.waiting = steps
        if !isFull { sendWaitingSteps() }
    }

    /// Sends the steps soon, because a listener gets no call before it has its subscription.
    func receiveSoon(_ steps: ReplySteps) {
        guard let course else { return }
        course.waiting = steps
        scheduler.run(with: self) { subscription in
            if !subscription.isFull { subscription.sendWaitingSteps() }
        }
    }

    /// Sends the steps that the reader does not have yet. The end follows the last ones, whether the reader is full or not.
    private func sendWaitingSteps() {
        guard let course, let steps = course.waiting.take() else { return }
        course.last = steps
        let changes = course.known.take(steps.steps)
        if !changes.isEmpty { listener?.receive(changes) }
    }

    /// The rest of the reply cannot be read.
    func receive(error: RelayError) {
        guard state == .live else { return }
        fail(error)
    }

    /// Records that the source has moved back to an earlier position.
    func sourceMoved(to start: ReplyPosition) {
        isAhead = position != start
    }

    /// Detaches from the source. The reader receives the missing content later, page by page.
    ///
    /// - Parameter page: a page that the source has read and that includes the reader's position.
    func fallBehind(in page: ReplyPage? = nil) {
        guard state == .live, let source else { return }
        source.detach(self)
        isAhead = false
        lagging().page = page
        if isFull {
            state = .waiting
        } else {
            beginCatchingUp()
        }
    }

    /// Skips a line that the reader may have.
    private func skip(to end: ReplyPosition) {
        if position.covers(end) {
            isAhead = position != end
        } else {
            // The reader has a part of the line. A page begins exactly at its position.
            fallBehind()
        }
    }

    private func attach(to source: any ReplySource) {
        state = .live
        source.attach(self)
        isAhead = position != source.position
    }

    // MARK: - Catching up

    private func beginCatchingUp() {
        state = .catchingUp
        scheduler.spawn(with: self) { await $0.catchUp() }
    }

    private func lagging() -> Lag {
        if let lag { return lag }
        let lag = Lag()
        self.lag = lag
        return lag
    }

    private func catchUp() async {
        let lag = lagging()
        while state == .catchingUp, let source {
            guard deliverPage(of: lag) else { return }
            // No await from here to the attachment, so that no line arrives in between.
            let known = source.position
            if !known.isEnd, position.covers(known) {
                attach(to: source)
                return
            }
            do throws(RelayError) {
                let page = try await source.page(from: position)
                // The reader may have left meanwhile.
                guard state == .catchingUp else { return }
                lag.retry = StoreRetry()
                if page.start != position {
                    startOver(at: page.start)
                }
                if page.isEmpty, page.ending == nil {
                    guard source.position == known else { continue }
                    waitForMore(of: source)
                    return
                }
                lag.page = page
            } catch {
                retry(after: error, in: lag)
                return
            }
        }
    }

    /// Sends the page that is not delivered completely. Returns whether the reader can receive the next one.
    private func deliverPage(of lag: Lag) -> Bool {
        guard let page = lag.page else { return true }
        let isDelivered = deliver(page)
        guard state == .catchingUp else { return false }
        if isDelivered {
            lag.page = nil
        }
        if isFull || !isDelivered {
            state = .waiting
            return false
        }
        return true
    }

    /// Reads again after a pause, or ends with the error.
    private func retry(after error: RelayError, in lag: Lag) {
        guard state == .catchingUp else { return }
        if let pause = lag.retry.delay(after: error, within: storeRetryTimeout, now: scheduler.now()) {
            resume(after: pause)
        } else {
            fail(error)
        }
    }

    /// Waits because the reader has all available content, although the source's position is beyond it.
    private func waitForMore(of source: any ReplySource) {
        if source.position.isEnd {
            resume(after: tick)
        } else {
            // The source has the position of a reader that has invented it.
            attach(to: source)
        }
    }

    private func resume(after pause: Duration) {
        let lag = lagging()
        let alarm =
            lag.alarm
            ?? scheduler.makeAlarm { [unowned self] in
                if state == .catchingUp { beginCatchingUp() }
            }
        lag.alarm = alarm
        alarm.set(after: pause)
    }

    /// Sends the missing part of a page to the reader. Returns whether the reader has received all of it.
    private func deliver(_ page: ReplyPage) -> Bool {
        if let steps = page.steps { receive(steps) }
        var line = ByteBuffer()
        while let end = lines.next(in: page, after: position, into: &line) {
            guard !isFull else { return false }
            position = end
            guard let listener else { return false }
            if !listener.receive(PositionedLines(line.bytes, to: end)) {
                isFull = true
            }
        }
        if let ending = page.ending {
            send(lines.ending(ending), at: page.end)
        } else if page.end.covers(position) {
            // Content that cannot be parsed has no lines.
            position = page.end
        }
        return true
    }

    private func startOver(at start: ReplyPosition) {
        position = start
        listener?.reset(to: start)
    }

    // MARK: - The end

    private func send(_ ending: ReplyEnding, at end: ReplyPosition) {
        position = end
        sendWaitingSteps()
        let listener = listener
        finish()
        listener?.end(ending, at: end)
    }

    private func fail(_ error: RelayError) {
        let listener = listener
        finish()
        listener?.fail(error)
    }
}

/// Receives a reply. All calls are on the listener's shard.
public protocol ReplyListener: AnyObject {
    /// Receives lines in Ollama's format.
    ///
    /// - Returns: whether the listener can receive more; if not, it calls `ReplySubscription.listenerIsReady` later.
    func receive(_ lines: PositionedLines) -> Bool
    /// The reply waits for a slot of its model server, at this position of the queue.
    func isQueued(at position: QueuePosition)
    /// Whether the listener gets the steps of the reply.
    var followsSteps: Bool { get }
    /// Calls of tools of the server are new, or have another state. The first call has those that exist, if there are any.
    func receive(_ changes: [StepChange])
    /// The reply restarts at `position`. The content so far is invalid.
    func reset(to position: ReplyPosition)
    /// Receives the last event. Called once, as the last call.
    func end(_ ending: ReplyEnding, at position: ReplyPosition)
    /// The rest of the reply cannot be read. Called once, instead of `end`.
    func fail(_ error: RelayError)
}

extension ReplyListener {
    public var followsSteps: Bool { false }
    public func receive(_ changes: [StepChange]) {}
}
