import ChatterdBasics
import ChatterdLanguageModels

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
    /// The maximum number of replies that one call adopts.
    private static let adoptions = 16

    let makeID: @Sendable () -> ReplyID
    var isStopping: Bool { context.isStopping }
    /// The replies that this shard generates.
    private var replies: [ReplyID: Reply] = [:]
    /// Those with content that is not journalled.
    private var dirty = IndexedSet<Reply>()
    private lazy var journalFlush = JournalFlush(on: store.makeJournalBatch())
    /// The followers of replies of other shards and processes.
    var followers: [ReplyID: ReplyFollower] = [:]

    /// Creates the service of a shard. All shards of a process share queue, estimates, board and directory.
    public init(
        store: any ConversationStore, upstreams: UpstreamDirectory, slots: SlotQueue? = nil,
        estimates: TokenEstimates = TokenEstimates(),
        limits: RelayLimits, board: TurnBoard, directory: ReplyDirectory, scheduler: Scheduler,
        makeID: @escaping @Sendable () -> ReplyID
    ) {
        self.store = store
        self.upstreams = upstreams
        self.slots = slots
        self.estimates = estimates
        self.limits = limits
        self.board = board
        self.directory = directory
        self.scheduler = scheduler
        self.makeID = makeID
    }

    /// The service for other shards.
    var reference: ChatServiceReference { ChatServiceReference(self) }

    private func makeContext() -> ReplyContext {
        let context = ReplyContext(
            store: store, upstreams: upstreams, slots: slots, estimates: estimates, limits: limits, board: board,
            scheduler: scheduler,
            follower: { [unowned self] record, position in follower(of: record, from: position) },
            readPage: { [unowned self] record, position async throws(RelayError) in
                try await page(of: record, from: position)
            },
            readWhole: { [unowned self] record async throws(RelayError) in try await readWhole(record) },
            resolveUnconfirmed: { [unowned self] appID async throws(RelayError) in
                try await resolveUnconfirmed(of: appID)
            })
        context.onDirty = { [unowned self] in dirty.insert($0) }
        context.onFinished = { [unowned self] in finish($0) }
        context.flushJournal = { [unowned self] in journal?.flushNow() }
        return context
    }

    // MARK: - Accepting prompts

    /// Commits a prompt.
    ///
    /// - Returns: the reply, which the caller runs; or the known reply of the idempotency key.
    /// - Throws: `overloaded`, `shuttingDown`, `storeUnavailable`; `invalidRequest` and `replyNotFound` for a wrong parent;
    ///   `idempotencyKeyReused`; `modelNotFound` and `unavailable` if no model server can be asked. The store is unchanged then.
    public func accept(
        _ request: ChatRequest, key: IdempotencyKey? = nil
    ) async throws(RelayError) -> AcceptedPrompt {
        try refuseWhenStopping()
        let opening = TurnOpening(
            appID: request.appID, prompts: request.messages, id: makeID(), model: request.model,
            options: Self.text(of: request.passThrough), parent: try Self.parent(request.parent), key: key,
            onInterrupt: request.onInterrupt)
        var admission: UpstreamDescription?
        do throws(RelayError) {
            admission = try await reserveAdmission(for: request.model)
            try board.reserveTurn(appID: request.appID, key: key?.text)
        } catch {
            release(admission)
            // A retry with a known key opens no turn, so it needs no admission.
            guard let key, let known = try await store.knownReply(appID: request.appID, key: key) else { throw error }
            return .known(try await find(known))
        }
        do throws(RelayError) {
            switch try await store.openTurn(opening) {
            case .opened(let turn, let history):
                board.open(turn, for: opening.id, key: key?.text)
                let reopened = ReopenedTurn(
                    turn: turn, id: opening.id, model: request.model, options: [], attempt: 1, history: history)
                return .started(
                    begin(reopened, passThrough: request.passThrough, onDisconnect: policy(request.onDisconnect)))
            case .known(let id):
                let prompt = try await known(id)
                board.cancelReservation(appID: request.appID, key: key?.text)
                release(admission)
                return prompt
            }
        } catch {
            if error.isOutcomeUnknown {
                note(
                    unconfirmed: opening.id, appID: request.appID, hasKey: key != nil,
                    onDisconnect: request.onDisconnect)
            }
            board.cancelReservation(appID: request.appID, key: key?.text)
            release(admission)
            throw error
        }
    }

    /// The prompt that the store knows by its key: accepted earlier, or opened without confirmation.
    private func known(_ id: ReplyID) async throws(RelayError) -> AcceptedPrompt {
        if let reply = try await resolveUnconfirmed(id) { return .started(reply) }
        return .known(try await find(id))
    }

    /// Starts another answer to the prompt of a reply. The old answer is kept.
    ///
    /// - Parameter model: the requested model; `nil` for the same one.
    /// - Throws: the errors of `accept`. The store is unchanged then.
    public func regenerate(
        _ reply: ReplyRecord, model: String?, onDisconnect: DisconnectPolicy?, onInterrupt: InterruptPolicy
    ) async throws(RelayError) -> Reply {
        try refuseWhenStopping()
        let admission = try await reserveAdmission(for: model ?? reply.model)
        do throws(RelayError) {
            try board.reserveTurn(appID: reply.turn.appID)
        } catch {
            release(admission)
            throw error
        }
        let id = makeID()
        do throws(RelayError) {
            let turn = try await store.openAlternative(to: reply, as: id, model: model, onInterrupt: onInterrupt)
            let members = Self.members(of: turn)
            board.open(turn.turn, for: turn.id)
            return begin(turn, passThrough: members, onDisconnect: policy(onDisconnect))
        } catch {
            if error.isOutcomeUnknown {
                note(unconfirmed: id, appID: reply.turn.appID, hasKey: false, onDisconnect: onDisconnect)
            }
            board.cancelReservation(appID: reply.turn.appID)
            release(admission)
            throw error
        }
    }

    /// Adopts up to 16 replies that other processes have handed over, or that dead processes have left and that must be regenerated.
    public func adoptAbandoned() async throws(RelayError) {
        let limit = min(Self.adoptions, limits.maximumReplies - board.count)
        guard !isStopping, limit > 0 else { return }
        var claimed: [ReplyID: Turn] = [:]
        // Close claimed turns that were never started; otherwise they look alive.
        defer {
            for (id, turn) in claimed {
                board.close(turn, for: id)
            }
        }
        let adopted = try await store.adoptAbandoned(limit: limit, except: board.replies) { turn, id in
            board.adopt(turn, for: id)
            claimed[id] = turn
        }
        for turn in adopted {
            claimed[turn.id] = nil
            let reply = begin(turn, passThrough: Self.members(of: turn), onDisconnect: .finish)
            scheduler.spawn(with: reply) { await $0.begin() }
        }
    }

    func begin(
        _ turn: ReopenedTurn, passThrough: [RawMember], onDisconnect: DisconnectPolicy
    ) -> Reply {
        let reply = Reply(turn, passThrough: passThrough, onDisconnect: onDisconnect, context: context)
        replies[reply.id] = reply
        directory.enter(reply.id, reference)
        journal?.begin()
        if context.isEnding {
            // `endReplies` ran while this turn was being opened.
            reply.stop()
        }
        return reply
    }

    private func policy(_ requested: DisconnectPolicy?) -> DisconnectPolicy {
        requested ?? .cancel(after: limits.disconnectGrace)
    }

    private static func parent(_ text: String?) throws(RelayError) -> TurnParent? {
        guard let text else { return nil }
        guard let parent = TurnParent(parsing: text) else {
            throw RelayError(.invalidRequest, "parent must be the id of a reply, or \"start\".")
        }
        return parent
    }

    private static func text(of members: [RawMember]) -> [UInt8] {
        var text = ByteBuffer()
        text.append(members)
        return text.array
    }

    /// The stored members of the request; empty if the stored text is not JSON.
    static func members(of turn: ReopenedTurn) -> [RawMember] {
        (try? [RawMember](decodingMembers: turn.options)) ?? []
    }

    private func finish(_ reply: Reply) {
        dirty.remove(reply)
        // The comparison is by identity: another reply of the same name keeps its entry.
        guard replies[reply.id] === reply else { return }
        replies[reply.id] = nil
        directory.remove(reply.id, reference)
        board.close(reply.turn, for: reply.id)
    }

    /// The reply with this id, if this shard generates it.
    func reply(_ id: ReplyID) -> Reply? { replies[id] }

    // MARK: - Conversations

    /// Replaces a conversation without asking a model.
    ///
    /// A running reply of the conversation ends with `conversationReplaced`.
    public func replaceConversation(_ request: ChatRequest) async throws(RelayError) {
        try refuseWhenStopping()
        try await store.replaceConversation(appID: request.appID, with: request.messages)
    }

    /// Deletes a conversation and all its data.
    public func deleteConversation(appID: String) async throws(RelayError) {
        try await store.deleteConversation(appID: appID)
    }

    /// Makes the next prompt follow a reply.
    public func choose(_ reply: ReplyRecord) async throws(RelayError) {
        try await store.choose(reply)
    }

    // MARK: - The journal

    /// Collects the unjournalled content of this shard's replies, up to about `limit` bytes. The remaining replies come first in
    /// the next flush. The previous flush must have ended.
    func gatherJournal(limit: Int) -> JournalFlush {
        let now = scheduler.now()
        let flush = journalFlush
        var left = limit
        dirty.removeAll { reply in
            switch reply.journalNeed(at: now) {
            case .none: return true
            case .later: return false
            case .now:
                guard left > 0 else { return false }
                left -= reply.unjournalled
                flush.append(reply)
                return true
            }
        }
        return flush
    }

    /// Handles the signal of another process to a reply of this shard.
    func receive(_ signal: ReplySignal) {
        guard let reply = replies[signal.id] else { return }
        switch signal.kind {
        case .stop: reply.cancel(.stopped)
        case .read: reply.isReadElsewhere()
        // The reply was adopted, closed or removed. Its readers learn from the store which.
        case .gone: reply.cancel(.ownershipLost)
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

    /// Ends the running replies: their readers get an error that gives the reason. Replies without text, and replies that are to be
    /// regenerated, are handed over to other processes.
    public func endReplies() {
        context.isEnding = true
        for reply in replies.values {
            reply.stop()
        }
    }

    static let ending = RelayError(.shuttingDown, "The server is being stopped. Ask again in a moment.")

    /// Throws if no model server is configured for the model, or if the queues of all its servers are full.
    ///
    /// - Returns: the server whose queue counts the prompt, if that has one.
    private func reserveAdmission(for model: String) async throws(RelayError) -> UpstreamDescription? {
        let targets = upstreams.targets(for: model)
        guard !targets.isEmpty else { throw RelayError(upstreams.refusal(of: model)) }
        guard let slots else { return nil }
        var refusal: RelayError?
        for target in targets {
            let description = target.upstream.description
            guard description.slots != nil else { return nil }
            do throws(RelayError) {
                try await slots.reserveAdmission(at: description, on: scheduler)
                return description
            } catch {
                refusal = refusal ?? error
            }
        }
        if let refusal { throw refusal }
        return nil
    }

    private func release(_ admission: UpstreamDescription?) {
        if let admission { slots?.releaseAdmission(at: admission) }
    }

    func refuseWhenStopping() throws(RelayError) {
        guard !isStopping else {
            throw RelayError(.shuttingDown, "The server is being stopped. Try again in a moment.")
        }
    }
}
