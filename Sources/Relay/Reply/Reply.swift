import ChatterdBasics
import ChatterdIdentity
import ChatterdLanguageModels

/// The answer to one turn, from the commit of its prompts to the commit of its text. Confined to its shard.
///
/// The reply stores each line of the model and sends it to the readers, so that the stored text is the streamed text. It continues
/// without readers for as long as its policy says. `ReplyGenerator` asks the model servers.
public final class Reply: ReplySource, IndexedSetElement {
    /// The id of the reply.
    public let id: ReplyID
    /// The turn that this reply closes.
    public let turn: Turn
    /// The requested model.
    public let model: String
    /// The rest of the limits of the principal after the request.
    public let quota: Quota?

    enum Phase {
        /// Earlier turns of the conversation are still open.
        case waiting
        /// Model servers are asked, and answer.
        case generating(ReplyGenerator)
        /// The answer is over; its end is being stored.
        case storing
        /// The row is closed with this ending, and the readers have it.
        case ended(ReplyEnding)
        /// Another process determines the end. The readers read from the store through the follower; without readers there is no
        /// follower.
        case handedOver(ReplyFollower?)
    }

    let context: ReplyContext
    private(set) var attempt: Int
    private let passThrough: [RawMember]
    private let onDisconnect: DisconnectPolicy
    let startedAt: Instant
    var phase = Phase.waiting
    var content: ReplyContent
    /// Kept until the end is stored, for the provenance.
    var generator: ReplyGenerator?

    var audience = ReplyAudience()
    private let lines: ReplyLines
    /// Whether the model is paused because the only reader is full.
    private var isPausedForReader = false
    /// Whether the model may be paused for the only reader. `false` after other replies had to wait for the slot.
    private var mayPauseForReader = true
    private var pausedSlotAlarm: (any Alarm)?
    private(set) var graceAlarm: (any Alarm)?

    /// Released when the earlier turns are closed.
    private var earlier: EarlierTurns?
    private(set) lazy var pause = Pause(on: context.scheduler)
    /// The index in the set of dirty replies.
    public var setIndex: Int?

    /// Whether the reply has content that is not journalled.
    private var isDirty: Bool { setIndex != nil }

    private var journalFlush: CheckedContinuation<Void, Never>?
    /// The error that the readers have got because the store did not confirm the end in time.
    var readerError: RelayError?
    /// Whether the reply is restarting: its content is not journalled any more.
    private(set) var isRestarting = false
    /// Whether the store may have restarted the reply without a confirmation.
    private(set) var isRestartUnconfirmed = false

    init(_ turn: OpenedTurn, passThrough: [RawMember], onDisconnect: DisconnectPolicy, context: ReplyContext) {
        id = turn.id
        self.turn = turn.turn
        model = turn.model
        quota = turn.quota
        attempt = turn.attempt
        self.passThrough = passThrough
        self.onDisconnect = onDisconnect
        self.context = context
        content = ReplyContent(attempt: turn.attempt)
        earlier = EarlierTurns(before: turn, passThrough: passThrough, context: context)
        startedAt = context.scheduler.now()
        lines = ReplyLines(model: turn.model, createdAt: context.scheduler.timeOfDay())
    }

    /// The state of the reply as the store knows it.
    var record: ReplyRecord {
        ReplyRecord(
            id: id, turn: turn, model: model, state: ending?.state, attempt: attempt, isAbandoned: false, createdAt: 0,
            finishedAt: nil)
    }

    private var ending: ReplyEnding? {
        if case .ended(let ending) = phase { ending } else { nil }
    }

    // MARK: - Life

    /// Runs the reply until a model server works or the reply has ended. Later progress resumes it in a new task, because a task
    /// that waits for the answer holds several times the memory of the reply.
    public func begin() async {
        await run { [self] () async throws(RelayError) in
            let history = try await waitForEarlierTurns()
            let generator = ReplyGenerator(of: self, passThrough: passThrough, context: context)
            self.generator = generator
            phase = .generating(generator)
            return try await generator.begin(history)
        }
    }

    /// Continues after progress of the model server.
    func resume() async {
        guard let generator else { return }
        await run { () async throws(RelayError) in try await generator.resume() }
    }

    private func waitForEarlierTurns() async throws(RelayError) -> TurnHistory {
        guard let earlier else { throw EarlierTurns.startedTwice }
        let history = try await earlier.wait()
        self.earlier = nil
        return history
    }

    /// Ends the reply for a reason. No effect if the answer is over.
    public func cancel(_ reason: RelayError) {
        switch phase {
        case .waiting:
            earlier?.cancel(reason)
        case .generating(let generator):
            generator.cancel(reason)
            pause.end()
        case .storing, .ended, .handedOver:
            break
        }
    }

    /// Ends a wait for the store or for a restarting model server, because the process stops.
    func endWaits() {
        pause.end()
        if case .generating(let generator) = phase { generator.cancelRestartWait() }
    }

    // MARK: - Content

    /// Whether the reply has no content yet.
    var isEmpty: Bool { content.end.total == 0 }

    /// The end of the content.
    var contentEnd: ReplyPosition { content.end }

    /// The text so far.
    func wholeText() async throws(RelayError) -> [UInt8] {
        let known = content.page(from: ReplyPosition(attempt: attempt))?.text
        if let known { return known }
        return try await context.readWhole(record).text
    }

    /// Appends lines of the model, and sends them to the readers.
    func append(_ lines: LineRun) {
        var textEnds = InlineArray<64, Int>(repeating: 0)
        content.append(lines, textEnds: &textEnds)
        guard !lines.isDone else { return }
        if !isDirty {
            context.onDirty(self)
        }
        let lines = PositionedLines(
            lines, textEnds: textEnds.span.extracting(first: lines.count), to: content.visible)
        if audience.members.count == 1 {
            let only = audience.members.elements[0]
            if !only.receive(lines) {
                readerIsFull(only)
            }
        } else {
            for subscription in audience.members.elements where !subscription.receive(lines) {
                readerIsFull(subscription)
            }
        }
        if !audience.followers.isEmpty {
            audience.signalFollowers()
        }
        if isUrgent, !content.isBeingJournalled {
            context.flushJournal()
        }
    }

    /// Restarts the reply: discards its content, in the store and here, and resets the readers.
    func restart() async throws(RelayError) {
        isRestarting = true
        defer { isRestarting = false }
        try await context.retryWhileStoreIsUnavailable(pause) { [self] () async throws(RelayError) in
            // A cancelled reply does not wait for the store, and keeps its content.
            if case .generating(let generator) = phase { try generator.checkCancellation() }
            await waitForJournal()
            try await restartInStore()
        }
        discardContent()
    }

    /// Restarts the reply in the store, and records whether the outcome is unknown.
    private func restartInStore() async throws(RelayError) {
        do throws(RelayError) {
            attempt = try await context.store.restartTurn(turn, id: id, attempt: attempt)
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
        try await restartInStore()
        discardContent()
        generator?.forgetParts()
    }

    /// Discards the content of the former attempt, and resets the readers.
    private func discardContent() {
        content = ReplyContent(attempt: attempt)
        audience.forEach { $0.receive(resetTo: content.visible) }
        audience.signalFollowers()
    }

    // MARK: - Journal

    /// The treatment of a reply in the next flush of the journal.
    enum JournalNeed {
        /// The reply has no content to journal before it changes again.
        case none
        /// A later flush must check again.
        case later
        /// The content must be journalled now.
        case now
    }

    /// Whether content must be journalled.
    func journalNeed(at now: Instant) -> JournalNeed {
        // The content of the last line belongs to the ending.
        guard case .generating = phase, content.visible == content.end, content.unjournalled > 0 else { return .none }
        guard !content.isBeingJournalled, !isRestarting,
            isUrgent || now - startedAt >= context.limits.journalAge
        else { return .later }
        return .now
    }

    /// Adds the content that is not journalled to a batch; `journalled(to:isWritten:)` follows.
    ///
    /// - Returns: the end of the added content.
    func journal(on batch: any JournalBatch) -> ReplyPosition {
        content.journal(as: turn, id, on: batch)
    }

    /// The bytes that are not in the journal.
    var unjournalled: Int { content.unjournalled }

    /// Whether the journal lacks so much content that it must not wait for the tick.
    private var isUrgent: Bool { unjournalled > context.limits.journalUrgency }

    /// Records that the content up to a position is in the journal, or could not be written.
    func journalled(to position: ReplyPosition, isWritten: Bool) {
        if isWritten {
            content.journalled(to: position)
        } else {
            content.notJournalled(to: position)
        }
        if case .generating = phase, content.unjournalled > 0 {
            context.onDirty(self)
        }
        journalFlush.take()?.resume()
    }

    /// Waits until no content is on its way to the journal.
    func waitForJournal() async {
        guard content.isBeingJournalled else { return }
        await withCheckedContinuation { journalFlush = $0 }
    }

    // MARK: - Readers

    /// Subscribes a listener from the start of the reply; the listener gets no call before this returns.
    public func subscribe(_ listener: any ReplyListener) -> ReplySubscription {
        subscribe(listener, from: ReplyPosition(attempt: attempt))
    }

    func subscribe(_ listener: any ReplyListener, from position: ReplyPosition) -> ReplySubscription {
        audience.count += 1
        graceAlarm?.cancel()
        detachBlockedReaders()
        let subscription = ReplySubscription(
            listener, from: position, of: self, lines: lines, scheduler: context.scheduler, limits: context.limits)
        subscription.start()
        return subscription
    }

    /// The end of the content that readers may see.
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
        audience.attach(subscription)
        // The only reader, for which the model is paused, may have fallen behind by the lines in flight, and has caught up.
        resumeModel()
    }

    func detach(_ subscription: ReplySubscription) {
        if let follower { return follower.detach(subscription) }
        audience.detach(subscription)
    }

    func drained(_ subscription: ReplySubscription) {
        resumeModel()
    }

    func left(_ subscription: ReplySubscription) {
        audience.count -= 1
        if let follower { return follower.left(subscription) }
        checkReaders()
    }

    /// Applies the disconnect policy when the reply has no reader.
    private func checkReaders() {
        guard audience.isAbandonedHere, isGenerating else { return }
        resumeModel()
        guard case .cancel(let policy) = onDisconnect else { return }
        let grace = policy + audience.timeReadElsewhere(at: context.scheduler.now())
        guard grace > .zero else {
            cancel(.abandoned)
            return
        }
        if graceAlarm == nil {
            graceAlarm = context.scheduler.makeAlarm { [unowned self] in cancel(.abandoned) }
        }
        graceAlarm?.set(after: grace)
    }

    /// Whether the answer is not over.
    private var isGenerating: Bool {
        switch phase {
        case .waiting, .generating: true
        case .storing, .ended, .handedOver: false
        }
    }

    /// Records that another process reads the reply.
    func isReadElsewhere() {
        audience.isReadElsewhere(until: context.scheduler.now() + ReplySignal.readLifetime)
        detachBlockedReaders()
        checkReaders()
    }

    /// Adds a follower on another shard, which is signalled whenever there is more.
    func addFollower(_ signal: CrossShardSignal) {
        audience.add(signal)
        graceAlarm?.cancel()
        detachBlockedReaders()
        signal.signal()
    }

    /// Removes a follower that has no more readers.
    func removeFollower(_ signal: CrossShardSignal) {
        audience.remove(signal)
        checkReaders()
    }

    /// Sends the position in the queue of a model server to the readers; `nil` when the reply no longer waits.
    func isQueued(at position: QueuePosition?) {
        audience.setQueuePosition(position)
        audience.signalFollowers()
    }

    func page(from position: ReplyPosition) async throws(RelayError) -> ReplyPage {
        if let follower { return try await follower.page(from: position) }
        if let page = memoryPage(from: position) { return page }
        return try await context.readPage(record, position)
    }

    /// The content from a position on; `nil` if it is no longer in memory.
    func memoryPage(from position: ReplyPosition) -> ReplyPage? {
        var page = content.page(from: position)
        page?.ending = ending
        page?.queuePosition = audience.queuePosition
        page?.interimError = readerError
        return page
    }

    // MARK: - Slow readers

    /// Pauses the model for a full reader if it is the only one. Otherwise the reader falls behind.
    private func readerIsFull(_ subscription: ReplySubscription) {
        guard mayPauseForReader, audience.hasOneReader(at: context.scheduler.now()) else {
            subscription.fallBehind()
            return
        }
        guard !isPausedForReader, case .generating(let generator) = phase else { return }
        isPausedForReader = true
        generator.pauseGeneration()
        guard generator.usesSlot else { return }
        if pausedSlotAlarm == nil {
            pausedSlotAlarm = context.scheduler.makeAlarm { [unowned self] in checkPausedSlot() }
        }
        pausedSlotAlarm?.set(after: context.limits.pausedSlotTimeout)
    }

    private func resumeModel() {
        guard isPausedForReader else { return }
        isPausedForReader = false
        pausedSlotAlarm?.cancel()
        if case .generating(let generator) = phase {
            generator.resumeGeneration()
        }
    }

    /// Lets full readers fall behind, so that the model resumes.
    private func detachBlockedReaders() {
        guard isPausedForReader else { return }
        for subscription in audience.members.elements where subscription.isFull {
            subscription.fallBehind()
        }
        resumeModel()
    }

    /// Resumes the model without its only reader if other replies wait for its slot.
    private func checkPausedSlot() {
        guard isPausedForReader else { return }
        context.scheduler.spawn(with: self) { await $0.resumeIfSlotIsWanted() }
    }

    private func resumeIfSlotIsWanted() async {
        guard case .generating(let generator) = phase else { return }
        let isWanted = await generator.isSlotWanted()
        guard isPausedForReader else { return }
        if isWanted {
            mayPauseForReader = false
            detachBlockedReaders()
        } else {
            pausedSlotAlarm?.set(after: context.limits.pausedSlotTimeout)
        }
    }
}
