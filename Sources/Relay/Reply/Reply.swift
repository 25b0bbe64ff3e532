import ChatterdBasics
import ChatterdLanguageModels

/// The answer to one turn, from the commit of its prompts to the commit of its text. Confined to its shard.
///
/// It gathers what the model says while it hands every line on, so that what was streamed is what is stored. It goes on without
/// a reader as long as its policy says. Which model server makes it is `ReplyMaker`'s affair.
public final class Reply: ReplySource, @unchecked Sendable {
    /// Its name.
    public let id: ReplyID
    /// The turn that this reply closes.
    public let turn: Turn
    /// The model that was asked for.
    public let model: String

    enum Phase {
        /// Earlier turns of the conversation are not closed yet, or the model has not been asked.
        case waiting
        /// Model servers are asked, and answer.
        case making(ReplyMaker)
        /// The model is done; the reply is being stored.
        case storing
        /// The row is closed with this ending, and the readers have it.
        case ended(ReplyEnding)
        /// Another process determines the end. The readers read from the store through the follower; without readers there is no
        /// follower.
        case handedOver(ReplyFollower?)
    }

    let service: ChatService
    private var attempt: Int
    private let passThrough: [RawMember]
    private let onDisconnect: DisconnectPolicy
    let begunAt: UInt64
    var phase = Phase.waiting
    var content: ReplyContent
    /// Kept until the end is stored, for its account.
    var maker: ReplyMaker?

    /// The readers that keep up.
    var audience = ReplyAudience()
    /// The readers, with those that are behind.
    private(set) var readerCount = 0
    /// Whether the model waits for the only reader.
    private var isHeld = false
    /// Whether the model may wait for the only reader. `false` after other replies had to wait for the slot.
    private var mayBeHeld = true
    private var heldSlotAlarm: (any Alarm)?
    /// The followers on other shards; they count as readers.
    private var watches: [ReplyWatch] = []
    private let lines: ReplyLines
    private(set) var graceAlarm: (any Alarm)?
    /// Up to when somebody counts as reading in another process.
    private var readElsewhereUntil: UInt64 = 0

    /// Let go when they are closed.
    private var earlier: EarlierTurns?
    private(set) lazy var pause = Pause(on: service.scheduler)
    /// Its place among those that the journal is to look at.
    var journalPlace: Int?
    var journalRound: CheckedContinuation<Void, Never>?
    /// The error that the readers have got, because the store did not confirm the end in time.
    var trouble: RelayError?
    /// It is being begun anew: what it has so far is not journalled any more.
    var isBeginningAgain = false
    /// Whether the store may have restarted the reply without a confirmation.
    private(set) var isRestartUnconfirmed = false

    init(_ turn: ReopenedTurn, passThrough: [RawMember], onDisconnect: DisconnectPolicy, service: ChatService) {
        id = turn.id
        self.turn = turn.turn
        model = turn.model
        attempt = turn.attempt
        self.passThrough = passThrough
        self.onDisconnect = onDisconnect
        self.service = service
        content = ReplyContent(attempt: turn.attempt)
        earlier = EarlierTurns(before: turn, service: service)
        begunAt = service.scheduler.now()
        lines = ReplyLines(model: turn.model, createdAt: service.scheduler.timeOfDay())
    }

    /// What the store knows of it.
    var record: ReplyRecord {
        ReplyRecord(
            id: id, turn: turn, model: model, state: ending?.state, attempt: attempt, isAbandoned: false, createdAt: 0,
            finishedAt: nil)
    }

    private var ending: ReplyEnding? {
        if case .ended(let ending) = phase { ending } else { nil }
    }

    // MARK: - Readers

    /// Hands the reply to a reader, from its start on; the reader hears nothing before this returns.
    public func subscribe(_ reader: any ReplyReader) -> ReplySubscription {
        subscribe(reader, from: ReplyPosition(attempt: attempt))
    }

    func subscribe(_ reader: any ReplyReader, from position: ReplyPosition) -> ReplySubscription {
        readerCount += 1
        graceAlarm?.cancel()
        letFullReadersFallBehind()
        let subscription = ReplySubscription(
            reader, from: position, of: self, lines: lines, scheduler: service.scheduler, limits: service.limits)
        subscription.start()
        return subscription
    }

    /// Whoever held the model back is not the only reader any more.
    private func letFullReadersFallBehind() {
        guard isHeld else { return }
        for subscription in audience.members where subscription.isFull {
            subscription.fallBehind()
        }
        release()
    }

    /// How far it has got.
    var position: ReplyPosition {
        switch phase {
        case .ended: endPosition
        case .handedOver(let follower?): follower.position
        default: content.visible
        }
    }

    /// The follower that serves the readers after a handover.
    private var follower: ReplyFollower? {
        if case .handedOver(let follower) = phase { follower } else { nil }
    }

    func attach(_ subscription: ReplySubscription) {
        if let follower { return follower.attach(subscription) }
        audience.insert(subscription)
        // The only reader, for which the model waits, may have fallen behind by the lines in flight, and has caught up.
        release()
        if let place = audience.queuePlace {
            subscription.receiveSoon(place: place)
        }
    }

    func detach(_ subscription: ReplySubscription) {
        if let follower { return follower.detach(subscription) }
        audience.remove(subscription)
    }

    func drained(_ subscription: ReplySubscription) {
        release()
    }

    func left(_ subscription: ReplySubscription) {
        readerCount -= 1
        if let follower { return follower.left(subscription) }
        checkReaders()
    }

    /// When nobody reads any more, the policy says for how long the reply goes on.
    private func checkReaders() {
        guard readerCount == 0, watches.isEmpty, isGenerating else { return }
        release()
        guard case .cancel(let policy) = onDisconnect else { return }
        let grace = policy + readElsewhere
        guard grace > .zero else {
            cancel(.abandoned)
            return
        }
        if graceAlarm == nil {
            graceAlarm = service.scheduler.makeAlarm { [unowned self] in cancel(.abandoned) }
        }
        graceAlarm?.set(after: grace)
    }

    /// Somebody reads it in another process.
    func isReadElsewhere() {
        readElsewhereUntil = service.scheduler.now() + UInt64(ReplySignal.readLifetime / .nanoseconds(1))
        letFullReadersFallBehind()
        checkReaders()
    }

    /// How much longer somebody counts as reading in another process.
    private var readElsewhere: Duration {
        let now = service.scheduler.now()
        return readElsewhereUntil > now ? .nanoseconds(Int64(readElsewhereUntil - now)) : .zero
    }

    private func release() {
        guard isHeld else { return }
        isHeld = false
        heldSlotAlarm?.cancel()
        if case .making(let maker) = phase {
            maker.letGo()
        }
    }

    /// Resumes the model without its only reader if other replies wait for its slot.
    private func checkHeldSlot() {
        guard isHeld, case .making(let maker) = phase else { return }
        service.scheduler.spawn { [self] in
            let isWanted = await maker.isSlotWanted()
            guard isHeld else { return }
            if isWanted {
                mayBeHeld = false
                letFullReadersFallBehind()
            } else {
                heldSlotAlarm?.set(after: service.limits.heldSlot)
            }
        }
    }

    /// A reader can take no more for now: if it is the only one, the model waits for it.
    private func full(_ subscription: ReplySubscription) {
        guard readerCount == 1, watches.isEmpty, readElsewhere == .zero, mayBeHeld else {
            subscription.fallBehind()
            return
        }
        guard !isHeld, case .making(let maker) = phase else { return }
        isHeld = true
        maker.holdBack()
        guard maker.ticket != nil else { return }
        if heldSlotAlarm == nil {
            heldSlotAlarm = service.scheduler.makeAlarm { [unowned self] in checkHeldSlot() }
        }
        heldSlotAlarm?.set(after: service.limits.heldSlot)
    }

    func page(from position: ReplyPosition) async throws(RelayError) -> ReplyPage {
        if let follower { return try await follower.page(from: position) }
        if let page = memoryPage(from: position) { return page }
        return try await service.page(of: record, from: position)
    }

    /// Reads on from a position; nothing when that is not in memory.
    func memoryPage(from position: ReplyPosition) -> ReplyPage? {
        var page = content.page(from: position)
        page?.ending = ending
        page?.queuePlace = audience.queuePlace
        page?.trouble = trouble
        return page
    }

    /// Tells a follower on another shard whenever there is more.
    func watch(_ watch: ReplyWatch) {
        watches.append(watch)
        graceAlarm?.cancel()
        letFullReadersFallBehind()
        watch.poke()
    }

    /// The follower has no readers any more.
    func stopWatching(_ watch: ReplyWatch) {
        watches.removeAll { $0 === watch }
        checkReaders()
    }

    // MARK: - Ending early

    /// Whether the model has not finished.
    private var isGenerating: Bool {
        switch phase {
        case .waiting, .making: true
        case .storing, .ended, .handedOver: false
        }
    }

    /// Ends the reply for a reason; without effect when the model is done already.
    public func cancel(_ reason: RelayError) {
        switch phase {
        case .waiting:
            earlier?.cancel(reason)
        case .making(let maker):
            maker.cancel(reason)
            pause.end()
        case .storing, .ended, .handedOver:
            break
        }
    }

    // MARK: - Life

    /// Drives the reply until a model server is at work, or there is nothing left to do. From there it goes on by itself: a task
    /// that waited for the answer would hold several times what else the reply takes.
    public func begin() async {
        await drive { [self] () async throws(RelayError) in
            let history = try await waitForEarlierTurns()
            let maker = ReplyMaker(of: self, passThrough: passThrough, service: service)
            self.maker = maker
            phase = .making(maker)
            return try await maker.begin(history)
        }
    }

    /// Goes on when the model server has brought something to do.
    func goOn(_ maker: ReplyMaker) async {
        await drive { () async throws(RelayError) in try await maker.goOn() }
    }

    private func waitForEarlierTurns() async throws(RelayError) -> TurnHistory {
        guard let earlier else { throw EarlierTurns.startedTwice }
        let history = try await earlier.wait()
        self.earlier = nil
        return history
    }

    /// Hides the store's absence for as long as the limits say.
    private func patiently(_ work: () async throws(RelayError) -> Void) async throws(RelayError) {
        let start = service.scheduler.now()
        var delay = Duration.milliseconds(50)
        while true {
            do throws(RelayError) {
                return try await work()
            } catch  where error.code == .storeUnavailable {
                let left = service.limits.storeRetryTimeout - .nanoseconds(service.scheduler.now() &- start)
                guard left > .zero, !service.isStopping else { throw error }
                await pause.wait(atMost: min(delay, left))
                delay = min(delay * 2, .seconds(1))
            }
        }
    }

    /// Notifies the followers on other shards of new content.
    func poke() {
        for watch in watches {
            watch.poke()
        }
    }

    /// Ends a wait for the store or for a restarting model server. The service calls it when it stops.
    func wake() {
        pause.end()
        if case .making(let maker) = phase { maker.stopWaiting() }
    }

    // MARK: - The model

    /// Whether there is nothing of it yet.
    var isEmpty: Bool { content.end.total == 0 }

    /// Where all that was made of it ends.
    var contentEnd: ReplyPosition { content.end }

    /// Its text so far.
    func wholeText() async throws(RelayError) -> [UInt8] {
        let known = content.page(from: ReplyPosition(attempt: attempt))?.text
        if let known { return known }
        return try await service.readWhole(record).text
    }

    /// Waits for a slot of a model server; nothing when it does no longer.
    func waits(at place: QueuePlace?) {
        audience.queuePlace = place
        for subscription in audience.members {
            if let place { subscription.receive(place: place) }
        }
        poke()
    }

    /// Gathers a line's text and hands the line on.
    func take(_ line: Span<UInt8>, _ fields: OllamaLine) {
        content.append(line, fields)
        guard !fields.isDone else { return }
        if journalPlace == nil {
            service.hasGrown(self)
        }
        let position = content.visible
        if audience.members.count == 1 {
            let only = audience.members[0]
            if !only.receive(line: line, to: position) {
                full(only)
            }
        } else {
            for subscription in audience.members where !subscription.receive(line: line, to: position) {
                full(subscription)
            }
        }
        if !watches.isEmpty {
            poke()
        }
        if isUrgent, !content.isBeingJournalled {
            service.journal?.hurry()
        }
    }

    /// Begins anew: what there is counts no more, neither here nor in the store, and readers are told so.
    func beginAgain() async throws(RelayError) {
        isBeginningAgain = true
        defer { isBeginningAgain = false }
        try await patiently { [self] () async throws(RelayError) in
            // Who stops it while the store is away is not kept waiting, and keeps what there is.
            if case .making(let maker) = phase { try maker.checkCancellation() }
            if content.isBeingJournalled {
                await withCheckedContinuation { journalRound = $0 }
            }
            try await restart()
        }
        emptyContent()
    }

    /// Restarts the reply in the store, and records whether the outcome is unknown.
    private func restart() async throws(RelayError) {
        do throws(RelayError) {
            attempt = try await service.store.restartTurn(turn, id: id, attempt: attempt)
            isRestartUnconfirmed = false
        } catch {
            isRestartUnconfirmed = error.code == .storeUnavailable
            throw error
        }
    }

    /// Repeats an unconfirmed restart, because the store may refuse to close the former attempt.
    ///
    /// - Throws: `interrupted` if another process owns the reply; `conversationReplaced`; `storeUnavailable`.
    func confirmRestart() async throws(RelayError) {
        try await restart()
        emptyContent()
        maker?.forgetParts()
    }

    /// Discards the content of the former attempt, and resets the readers.
    private func emptyContent() {
        content = ReplyContent(attempt: attempt)
        for subscription in audience.members {
            subscription.receive(resetTo: content.visible)
        }
        poke()
    }
}
