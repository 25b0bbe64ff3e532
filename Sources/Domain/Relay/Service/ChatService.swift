import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdTracing

/// The use cases of the relay on one shard. Confined to its shard.
public final class ChatService {
    /// The services that all replies of this shard share.
    private(set) lazy var context = makeContext()
    let store: any ConversationStore
    /// The model servers. The registry replaces the list.
    public let upstreams: UpstreamDirectory
    let slots: SlotQueue?
    let estimates: TokenEstimates
    let limits: RelayLimits
    let board: TurnBoard
    let directory: ReplyDirectory
    let scheduler: Scheduler
    /// The process's journal; set before the first prompt.
    public var journal: Journal?

    private let tools: (any ToolRunner)?
    let hooks: (any HookRunner)?
    let makeID: (Partition) -> ReplyID
    /// Makes the id of a trace; `nil` if replies have none.
    let makeTraceID: (() -> TraceID)?
    private let observe: (ReplyEvent) -> Void
    var isStopping: Bool { context.isStopping }
    /// The replies that this shard generates.
    private var replies: [ReplyID: Reply] = [:]
    /// Those with content that is not journalled.
    private var dirty = IndexedSet<Reply>()
    private lazy var journalFlush = JournalFlush(on: store.makeJournalBatch())
    /// The generation of sheets of the last flush.
    private var sheetGeneration: Int32 = 0
    /// When replies are searched again for those whose owners must be looked up.
    private var nextOwnerSweep = Instant.distantPast
    /// The followers of replies of other shards and processes.
    var followers: [ReplyID: ReplyFollower] = [:]

    /// Creates the service of a shard. All shards of a process share queue, estimates, board and directory.
    ///
    /// - Parameter observe: gets what happens to replies, for metrics and the log.
    public init(
        store: any ConversationStore, upstreams: UpstreamDirectory, slots: SlotQueue? = nil,
        estimates: TokenEstimates = TokenEstimates(),
        limits: RelayLimits, board: TurnBoard, directory: ReplyDirectory, scheduler: Scheduler,
        tools: (any ToolRunner)? = nil, hooks: (any HookRunner)? = nil, makeID: @escaping (Partition) -> ReplyID,
        makeTraceID: (() -> TraceID)? = nil, observe: @escaping (ReplyEvent) -> Void = { _ in }
    ) {
        self.store = store
        self.upstreams = upstreams
        self.slots = slots
        self.estimates = estimates
        self.limits = limits
        self.board = board
        self.directory = directory
        self.scheduler = scheduler
        self.tools = tools
        self.hooks = hooks
        self.makeID = makeID
        self.makeTraceID = makeTraceID
        self.observe = observe
    }

    /// The service for other shards.
    var reference: ChatServiceReference { ChatServiceReference(self) }

    private func makeContext() -> ReplyContext {
        let context = ReplyContext(
            store: store, upstreams: upstreams, slots: slots, estimates: estimates, limits: limits, board: board,
            scheduler: scheduler, tools: tools, hooks: hooks,
            follower: { [unowned self] record, position in follower(of: record, from: position) },
            readPage: { [unowned self] record, position async throws(RelayError) in
                try await page(of: record, from: position)
            },
            readWhole: { [unowned self] record async throws(RelayError) in try await readWhole(record) },
            resolveUnconfirmed: { [unowned self] conversation async throws(RelayError) in
                try await resolveUnconfirmed(of: conversation)
            })
        context.observe = observe
        context.onDirty = { [unowned self] in dirty.insert($0) }
        context.onFinished = { [unowned self] in finish($0) }
        context.flushJournal = { [unowned self] in journal?.flushNow() }
        return context
    }

    /// Makes the reply of an open turn.
    ///
    /// - Parameter acceptedAt: when the whole request was here; `nil` for now.
    func begin(
        _ turn: OpenTurn, as origin: ReplyEvent.Origin, passThrough: [RawMember], onDisconnect: DisconnectPolicy,
        acceptedAt: Instant? = nil, trace: ReplyTrace?
    ) -> Reply {
        let reply = Reply(
            turn, passThrough: passThrough, onDisconnect: onDisconnect, context: context,
            acceptedAt: acceptedAt ?? scheduler.now(), trace: trace)
        observe(.began(origin))
        replies[reply.id] = reply
        directory.enter(reply.id, reference)
        journal?.begin(at: reply.startedAt)
        if context.isEnding {
            // `endReplies` ran while this turn was being opened.
            reply.stop()
        }
        return reply
    }

    private func finish(_ reply: Reply) {
        dirty.remove(reply)
        // The comparison is by identity: another reply of the same name keeps its entry.
        guard replies[reply.id] === reply else { return }
        replies[reply.id] = nil
        directory.remove(reply.id, reference)
        board.close(reply.turn, for: reply.id)
    }

    /// The replies that this shard generates.
    var runningReplies: some Collection<Reply> { replies.values }

    /// The reply with this id, if this shard generates it.
    func reply(_ id: ReplyID) -> Reply? { replies[id] }

    // MARK: - Conversations

    /// Replaces a conversation without asking a model.
    ///
    /// A running reply of the conversation ends with `conversationReplaced`.
    public func replaceConversation(
        _ conversation: ConversationKey, with messages: [ModelMessage]
    ) async throws(RelayError) {
        try refuseWhenStopping()
        try await store.replaceConversation(conversation, with: messages)
    }

    /// Deletes a conversation and all its data.
    public func deleteConversation(_ conversation: ConversationKey) async throws(RelayError) {
        try await store.deleteConversation(conversation)
    }

    /// Makes the next prompt follow a reply.
    public func choose(_ reply: ReplyRecord) async throws(RelayError) {
        try await store.choose(reply)
    }

    // MARK: - The journal

    /// Collects the unjournalled content of this shard's replies, up to the limit of the round. The remaining replies come first in the
    /// next flush. The flush also has the owners of running replies looked up, each every `ownerCheckInterval`. The previous flush must have
    /// ended.
    func gatherJournal(_ round: JournalRound) -> JournalFlush {
        let now = scheduler.now()
        let flush = journalFlush
        if round.generation != sheetGeneration {
            sheetGeneration = round.generation
            flush.isCarried = false
        }
        if !flush.isCarried {
            flush.isCarried = replies.values.allSatisfy { !$0.isBehind(round.generation) }
            for reply in replies.values where reply.isBehind(round.generation) {
                dirty.insert(reply)
            }
        }
        var left = round.limit
        // Rounded up, so that all replies have their turn within the slices.
        let most = (replies.count + round.slices - 1) / round.slices
        dirty.removeAll { reply in
            switch reply.journalNeed(at: now, generation: round.generation) {
            case .none: return true
            case .later: return false
            case .now(let size):
                guard left > 0, flush.count < most else { return false }
                left -= size
                flush.append(reply, generation: round.generation, at: now)
                return true
            }
        }
        if now >= nextOwnerSweep {
            nextOwnerSweep = now + limits.ownerCheckInterval / 8
            // Replies that began together are spread over some flushes, so that no flush is long.
            flush.checkOwners(of: replies.values, atMost: max(64, replies.count / 4), at: now)
        }
        return flush
    }

    /// Handles the signal of another process to a reply of this shard.
    func receive(_ signal: ReplySignal) {
        guard let reply = replies[signal.id] else { return }
        switch signal.kind {
        case .stop: reply.cancel(.stopped)
        case .answer: reply.receiveAnswer()
        case .read: reply.receiveReadSignal()
        case .gone: reply.loseOwnership()
        }
    }

    // MARK: - Stopping

    /// Refuses prompts from now on. Running replies continue. Readers of other processes' replies get an error.
    public func stopAccepting() {
        context.isStopping = true
        for follower in followers.values {
            follower.pullNow()
        }
        for reply in replies.values {
            // A wait for an unavailable store must not delay the stop.
            reply.endWaits()
        }
    }

    /// Ends the running replies: their readers get an error that gives the reason. Replies without text, and replies with the policy
    /// `regenerate`, are handed over to other processes.
    public func endReplies() {
        context.isEnding = true
        for reply in replies.values {
            reply.stop()
        }
    }

    static let ending = RelayError(.shuttingDown, "The server is being stopped. Ask again in a moment.")

    func refuseWhenStopping() throws(RelayError) {
        guard !isStopping else {
            throw RelayError(.shuttingDown, "The server is being stopped. Try again in a moment.")
        }
    }
}
