import ChatterdBasics
import ChatterdChat
import ChatterdIdentity

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
    public var quota: Quota? { rareQuota.value }

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

    /// What the metrics and the log need of the reply.
    public let facts: ReplyFacts
    private let rareQuota: RarelyUsed<Quota>
    let context: ReplyContext
    private(set) var attempt: Int
    private let passThrough: [RawMember]
    /// The history of the client up to the answer, if the client keeps its history.
    var clientHistory: HistoryDigest? { passThrough.history }
    let onDisconnect: DisconnectPolicy
    let startedAt: Instant
    /// When the store last looked up that this process owns the reply.
    private var ownerCheckedAt: Instant
    /// The attempt whose owner the store has last looked up; 0 before that.
    private var checkedAttempt = 0
    var phase = Phase.waiting
    var content: ReplyContent
    /// Kept until the end is stored, for the provenance.
    var generator: ReplyGenerator?

    var audience = ReplyAudience()
    let lines: ReplyLines
    var pausedSlotAlarm: (any Alarm)?
    var graceAlarm: (any Alarm)?

    /// Released when the earlier turns are closed.
    private var earlier: EarlierTurns?
    private(set) lazy var pause = Pause(on: context.scheduler)
    /// The index in the set of dirty replies.
    public var setIndex: Int?

    /// Whether the reply has content that is not journalled.
    private var isDirty: Bool { setIndex != nil }

    var journalFlush: CheckedContinuation<Void, Never>?
    /// The error that the readers have got because the store did not confirm the end in time.
    var readerError = RarelyUsed<RelayError>()
    /// Whether the model is paused because the only reader is full.
    var isPausedForReader = false
    /// Whether the model may be paused for the only reader. `false` after other replies had to wait for the slot.
    var mayPauseForReader = true
    /// Whether the reply is restarting: its content is not journalled any more.
    private(set) var isRestarting = false
    /// Whether the store may have restarted the reply without a confirmation.
    private(set) var isRestartUnconfirmed = false

    init(
        _ turn: OpenTurn, passThrough: [RawMember], onDisconnect: DisconnectPolicy, context: ReplyContext,
        acceptedAt: Instant, trace: ReplyTrace?
    ) {
        id = turn.id
        self.turn = turn.turn
        model = turn.model
        rareQuota = turn.quota.map { RarelyUsed($0) } ?? RarelyUsed()
        attempt = turn.attempt
        self.passThrough = passThrough
        self.onDisconnect = onDisconnect
        self.context = context
        content = ReplyContent(attempt: turn.attempt)
        earlier = EarlierTurns(before: turn, passThrough: passThrough, context: context)
        startedAt = context.scheduler.now()
        facts = ReplyFacts(acceptedAt: acceptedAt, storedAt: startedAt, trace: trace)
        ownerCheckedAt = startedAt
        lines = ReplyLines(model: turn.model, createdAt: context.scheduler.timeOfDay())
    }

    /// The state of the reply as the store knows it.
    var record: ReplyRecord {
        ReplyRecord(
            id: id, turn: turn, model: model, state: ending?.state, attempt: attempt, isAbandoned: false,
            createdAt: lines.createdAt / 1_000,
            finishedAt: nil)
    }

    var ending: ReplyEnding? {
        if case .ended(let ending) = phase { ending } else { nil }
    }

    // MARK: - Life

    /// Runs the reply until a model server works or the reply has ended. Later progress resumes it in a new task, because a task
    /// that waits for the answer holds several times the memory of the reply.
    public func begin() async {
        await run { [self] () async throws(RelayError) in
            let mustWait = earlier?.mustWait ?? false
            let history = try await waitForEarlierTurns()
            let now = context.scheduler.now()
            facts.waitedForTurns(now - startedAt)
            if mustWait { facts.trace?.record(.turn, from: startedAt, to: now) }
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

    /// A client has answered a call that waits for an approval.
    func receiveAnswer() {
        if case .generating(let generator) = phase { generator.receiveAnswer() }
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

    /// The content of an answer that is complete, with that of its last line, which readers do not have yet.
    func completeContent() async throws(RelayError) -> (text: [UInt8], thinking: [UInt8], toolCalls: [UInt8]) {
        let rest = content.rest
        guard rest.start.total > 0 else { return (rest.text, rest.thinking, rest.toolCalls) }
        let stored = try await context.readWhole(record)
        guard stored.text.count >= rest.start.text, stored.thinking.count >= rest.start.thinking,
            stored.toolCalls.count >= rest.start.toolCalls
        else { throw .textLost }
        return (
            stored.text.prefix(rest.start.text) + rest.text,
            stored.thinking.prefix(rest.start.thinking) + rest.thinking,
            stored.toolCalls.prefix(rest.start.toolCalls) + rest.toolCalls
        )
    }

    /// Appends lines of the model, and sends them to the readers.
    func append(_ lines: LineRun) {
        var textEnds = InlineArray<64, Int>(repeating: 0)
        content.append(lines, textEnds: &textEnds)
        context.pieces &+= lines.count
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

    /// Whether it is time to look up the owner again: another process may have closed the reply, or its conversation is deleted. Then its
    /// model works for nothing, also while it is silent.
    func needsOwnerCheck(at now: Instant) -> Bool {
        guard case .generating = phase, !isRestarting, !isRestartUnconfirmed else { return false }
        return now - ownerCheckedAt >= context.limits.ownerCheckInterval
    }

    /// Has the store look up whether this process still owns the reply.
    func checkOwner(on batch: any JournalBatch, at now: Instant) {
        ownerCheckedAt = now
        noteOwnerCheck()
        batch.checkOwner(of: turn, id: id, attempt: attempt)
    }

    /// Records that the store looks up the owner of this attempt; `loseOwnership` follows if it is another process.
    func noteOwnerCheck() {
        checkedAttempt = attempt
    }

    /// Ends the reply without an answer, because this process does not own it any more. Its readers learn from the store why.
    ///
    /// A look-up may have met a restart that was under way, or an earlier object of a reply that this process has adopted again: both have
    /// another attempt, and the next look-up tells.
    func loseOwnership() {
        guard !isRestarting, !isRestartUnconfirmed, checkedAttempt == attempt else { return }
        cancel(.ownershipLost)
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
}
