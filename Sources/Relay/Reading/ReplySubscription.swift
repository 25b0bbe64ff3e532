import ChatterdBasics

/// One reader of one reply: it hears of new lines while it keeps up, and catches up page by page while it does not. Confined
/// to its shard.
public final class ReplySubscription: @unchecked Sendable {
    private enum State {
        /// Attached to the source: hears of each line when it is made.
        case live
        /// Reads pages, in a task or after a pause, until it has what the source has.
        case catchingUp
        /// Has to catch up, but the reader is full.
        case waiting
        /// The reader got all, failed or left; it hears nothing more.
        case over
    }

    /// What a reader needs that does not keep up; most do.
    private final class Lag {
        /// What has been read and not been given to the reader yet, for lack of room.
        var page: ReplyPage?
        var patience = StorePatience()
        var alarm: (any Alarm)?
    }

    /// Up to where the reader has got everything.
    public private(set) var position: ReplyPosition
    /// Whether the reader cannot take more for now.
    private(set) var isFull = false
    /// Its place in the audience of the source.
    var place: Int?

    private var state = State.waiting
    /// Whether the reader stands beyond the source that it is attached to: it skips what it has.
    private var isAhead = false
    private var reader: (any ReplyReader)?
    private var source: (any ReplySource)?
    private var lag: Lag?
    private let lines: ReplyLines
    private let scheduler: Scheduler
    /// How long it asks a store that is away, and how often it looks for more.
    private let storePatience: Duration
    private let tick: Duration

    /// Makes the subscription of a reader; it hears nothing before `start`.
    init(
        _ reader: any ReplyReader, from position: ReplyPosition, of source: any ReplySource, lines: ReplyLines,
        scheduler: Scheduler, limits: RelayLimits
    ) {
        self.reader = reader
        self.position = position
        self.position.isEnd = false
        self.source = source
        self.lines = lines
        self.scheduler = scheduler
        storePatience = limits.storeRetryTimeout
        tick = limits.journalTick
    }

    /// Whether it stands beyond the source that it is attached to.
    var skips: Bool { isAhead }

    /// Begins; the reader hears nothing before this returns.
    func start() {
        guard state == .waiting, let source else { return }
        if !source.position.isEnd, position.covers(source.position) {
            attach(to: source)
        } else {
            beginCatchingUp()
        }
    }

    // MARK: - The reader

    /// The reader, which was full, can take more.
    public func readerCanTakeMore() {
        guard isFull else { return }
        isFull = false
        switch state {
        case .live: source?.drained(self)
        case .waiting: beginCatchingUp()
        case .catchingUp, .over: break
        }
    }

    /// The reader is gone.
    public func readerLeft() {
        finish()
    }

    private func finish() {
        guard state != .over, let source else { return }
        if state == .live {
            source.detach(self)
        }
        state = .over
        lag?.alarm?.cancel()
        // Reader and source hold this object: without this neither would ever be let go.
        self.source = nil
        reader = nil
        lag?.page = nil
        source.left(self)
    }

    // MARK: - The source

    /// Gives the reader a line that was made just now, as it is.
    ///
    /// - Returns: whether it can take more. If not, the source calls `fallBehind`, or sees to it that there is no more.
    @discardableResult
    func receive(line: Span<UInt8>, to end: ReplyPosition) -> Bool {
        guard state == .live, let reader else { return true }
        if isAhead {
            return skip(to: end)
        }
        guard !isFull else {
            // The reader gets the line from a page as soon as it can take more. One read of a model server may produce very many
            // lines.
            fallBehind()
            return true
        }
        position = end
        if !reader.read(line: line, to: end) {
            isFull = true
        }
        return !isFull
    }

    /// Gives the reader what it lacks of a page that the source has read.
    func receive(page: ReplyPage) {
        guard state == .live else { return }
        var end = page.end
        end.isEnd = false
        isAhead = position != end && position.covers(end)
        if page.ending == nil, isAhead { return }
        guard position.covers(page.start), end.covers(position) else {
            // It is of another attempt, or the reply is over and shorter than the reader thinks.
            fallBehind()
            return
        }
        if !deliver(page), state == .live {
            fallBehind(in: page)
        }
    }

    /// Gives the reader the ending, as it is; `end` is where the reply ends with all that the last event carries.
    func receive(ending: ReplyEnding, at end: ReplyPosition) {
        guard state == .live else { return }
        if isAhead {
            // Where it stands, and what it lacks, only a page can tell.
            fallBehind()
        } else {
            tell(lines.verbatim(ending), at: end)
        }
    }

    /// The reply begins again: what the reader has counts no more.
    func receive(resetTo start: ReplyPosition) {
        guard state == .live else { return }
        isAhead = false
        startOver(at: start)
    }

    /// The reply waits for a slot of its model server.
    func receive(place: QueuePlace) {
        guard state == .live else { return }
        reader?.wait(at: place)
    }

    /// The same, soon: who subscribes hears nothing before it has its subscription.
    func receiveSoon(place: QueuePlace) {
        scheduler.run { [self] in receive(place: place) }
    }

    /// The reply cannot be read on.
    func receive(error: RelayError) {
        guard state == .live else { return }
        fail(error)
    }

    /// Notes that the source has gone back to where it reads on from.
    func sourceMoved(to start: ReplyPosition) {
        isAhead = position != start
    }

    /// Leaves the source: the reader gets what it lacks later, page by page.
    ///
    /// - Parameter page: one that the source has read, and that goes on behind the reader's position.
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

    /// Passes over a line of which the reader may have all.
    private func skip(to end: ReplyPosition) -> Bool {
        if position.covers(end) {
            isAhead = position != end
        } else {
            // The reader has a part of it: a page begins just there.
            fallBehind()
        }
        return true
    }

    private func attach(to source: any ReplySource) {
        state = .live
        source.attach(self)
        isAhead = position != source.position
    }

    // MARK: - Catching up

    private func beginCatchingUp() {
        state = .catchingUp
        scheduler.spawn { await self.catchUp() }
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
            if let page = lag.page {
                guard deliver(page) else {
                    if state == .catchingUp { state = .waiting }
                    return
                }
                guard state == .catchingUp else { return }
                lag.page = nil
                guard !isFull else {
                    state = .waiting
                    return
                }
            }
            // From here to the attachment nothing is awaited, so that no line comes between.
            let known = source.position
            if !known.isEnd, position.covers(known) {
                attach(to: source)
                return
            }
            do throws(RelayError) {
                let page = try await source.page(from: position)
                // The reader may have left meanwhile.
                guard state == .catchingUp else { return }
                lag.patience = StorePatience()
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
                guard state == .catchingUp else { return }
                guard let pause = lag.patience.pause(after: error, within: storePatience, now: scheduler.now()) else {
                    fail(error)
                    return
                }
                goOn(after: pause)
                return
            }
        }
    }

    /// The reader has all there is, although the source claims more.
    private func waitForMore(of source: any ReplySource) {
        if source.position.isEnd {
            goOn(after: tick)
        } else {
            // The source follows the word of a reader who stands nowhere in the reply.
            attach(to: source)
        }
    }

    private func goOn(after pause: Duration) {
        let lag = lagging()
        let alarm =
            lag.alarm
            ?? scheduler.makeAlarm { [unowned self] in
                if state == .catchingUp { beginCatchingUp() }
            }
        lag.alarm = alarm
        alarm.set(after: pause)
    }

    /// Gives the reader what it lacks of a page; says whether that was all of it.
    private func deliver(_ page: ReplyPage) -> Bool {
        var line = ByteBuffer()
        while let end = lines.next(in: page, after: position, into: &line) {
            guard !isFull else { return false }
            position = end
            guard let reader else { return false }
            if !reader.read(line: line.bytes, to: end) {
                isFull = true
            }
        }
        if let ending = page.ending {
            tell(lines.ending(ending), at: page.end)
        } else if page.end.covers(position) {
            // There are no lines of what cannot be read.
            position = page.end
        }
        return true
    }

    private func startOver(at start: ReplyPosition) {
        position = start
        reader?.reset(to: start)
    }

    // MARK: - The end

    private func tell(_ ending: ReplyEnding, at end: ReplyPosition) {
        position = end
        let reader = reader
        finish()
        reader?.end(ending, at: end)
    }

    private func fail(_ error: RelayError) {
        let reader = reader
        finish()
        reader?.fail(error)
    }
}
