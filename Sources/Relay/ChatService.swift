import ChatterdBasics
import ChatterdLanguageModels

/// The use cases of the relay on one shard. Confined to its shard.
public final class ChatService: @unchecked Sendable {
    let store: any ConversationStore
    /// The model servers; replaced when the registry changes.
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
    private(set) var isStopping = false
    /// Whether running replies end because the process stops.
    private(set) var isEnding = false
    /// The replies that this shard makes.
    private var replies: [ReplyID: Reply] = [:]
    /// Those among them that the journal is to look at.
    private var grown = GrownReplies()
    private lazy var journalRound = JournalRound(on: store.makeJournalSheet())
    /// The replies that are made elsewhere, and read here.
    var followers: [ReplyID: ReplyFollower] = [:]

    /// Makes the service of a shard; queue, estimates, board and directory are the same for all shards of the process.
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

    // MARK: - Making replies

    /// Commits a prompt, and gives the reply that is to be run; or the reply that the key was given to before.
    ///
    /// - Throws: `overloaded`, `shuttingDown`, `storeUnavailable`, `invalidRequest` and `replyNotFound` for a parent that is none,
    ///   `idempotencyKeyReused`, `modelNotFound` and `unavailable` if no model server may be asked; the store keeps nothing then.
    public func accept(
        _ request: ChatRequest, key: IdempotencyKey? = nil
    ) async throws(RelayError) -> AcceptedPrompt {
        try refuseWhenStopping()
        let opening = TurnOpening(
            appID: request.appID, prompts: request.messages, id: makeID(), model: request.model,
            options: Self.text(of: request.passThrough), parent: try Self.parent(request.parent), key: key,
            onInterrupt: request.onInterrupt)
        var room: UpstreamDescription?
        do throws(RelayError) {
            room = try await requireRoom(for: request.model)
            try board.promise(appID: request.appID, key: key?.text)
        } catch {
            giveBack(room)
            // There is no room for another turn; but there may be none to open.
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
                board.giveUp(appID: request.appID, key: key?.text)
                giveBack(room)
                return prompt
            }
        } catch {
            if error.isOutcomeUnknown {
                note(
                    unconfirmed: opening.id, appID: request.appID, hasKey: key != nil,
                    onDisconnect: request.onDisconnect)
            }
            board.giveUp(appID: request.appID, key: key?.text)
            giveBack(room)
            throw error
        }
    }

    /// The prompt that the store knows by its key: accepted earlier, or opened without confirmation.
    private func known(_ id: ReplyID) async throws(RelayError) -> AcceptedPrompt {
        if let reply = try await resolveUnconfirmed(id) { return .started(reply) }
        return .known(try await find(id))
    }

    /// Begins another answer to the prompt of a reply; the old one is kept.
    ///
    /// - Parameter model: the model that is asked; nothing for the same.
    /// - Throws: as `accept`; nothing is stored then.
    public func regenerate(
        _ reply: ReplyRecord, model: String?, onDisconnect: DisconnectPolicy?, onInterrupt: InterruptPolicy
    ) async throws(RelayError) -> Reply {
        try refuseWhenStopping()
        let room = try await requireRoom(for: model ?? reply.model)
        do throws(RelayError) {
            try board.promise(appID: reply.turn.appID)
        } catch {
            giveBack(room)
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
            board.giveUp(appID: reply.turn.appID)
            giveBack(room)
            throw error
        }
    }

    /// Makes replies of dead processes again whose clients asked for that, a few at a time.
    public func adoptAbandoned() async throws(RelayError) {
        let room = min(Self.adoptions, limits.maximumReplies - board.count)
        guard !isStopping, room > 0 else { return }
        var claimed: [ReplyID: Turn] = [:]
        // What was claimed, and will not be made for all that, is not to be taken for alive.
        defer {
            for (id, turn) in claimed {
                board.close(turn, for: id)
            }
        }
        let adopted = try await store.adoptAbandoned(limit: room, except: board.replies) { turn, id in
            board.adopt(turn, for: id)
            claimed[id] = turn
        }
        for turn in adopted {
            claimed[turn.id] = nil
            let reply = begin(turn, passThrough: Self.members(of: turn), onDisconnect: .finish)
            scheduler.spawn { await reply.begin() }
        }
    }

    func begin(
        _ turn: ReopenedTurn, passThrough: [RawMember], onDisconnect: DisconnectPolicy
    ) -> Reply {
        let reply = Reply(turn, passThrough: passThrough, onDisconnect: onDisconnect, service: self)
        replies[reply.id] = reply
        directory.enter(reply.id, self)
        journal?.begin()
        if isEnding {
            // It was on its way when the others were ended.
            reply.stop()
        }
        return reply
    }

    private func policy(_ wanted: DisconnectPolicy?) -> DisconnectPolicy {
        wanted ?? .cancel(after: limits.disconnectGrace)
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

    /// The members of the request as they were stored; none if somebody has changed them to what is no JSON.
    static func members(of turn: ReopenedTurn) -> [RawMember] {
        (try? [RawMember](decodingMembers: turn.options)) ?? []
    }

    func finished(_ reply: Reply) {
        grown.remove(reply)
        // The comparison is by identity: another reply of the same name keeps its entry.
        guard replies[reply.id] === reply else { return }
        replies[reply.id] = nil
        directory.remove(reply.id, self)
        board.close(reply.turn, for: reply.id)
    }

    /// The reply of that name, if this shard makes it.
    func reply(_ id: ReplyID) -> Reply? { replies[id] }

    // MARK: - Conversations

    /// Replaces a conversation; the model is not asked.
    ///
    /// A reply that is being made meanwhile ends with `conversationReplaced`.
    public func replaceConversation(_ request: ChatRequest) async throws(RelayError) {
        try refuseWhenStopping()
        try await store.replaceConversation(appID: request.appID, with: request.messages)
    }

    /// Removes a conversation with all that belongs to it.
    public func deleteConversation(appID: String) async throws(RelayError) {
        try await store.deleteConversation(appID: appID)
    }

    /// Makes what is said next follow a reply.
    public func choose(_ reply: ReplyRecord) async throws(RelayError) {
        try await store.choose(reply)
    }

    // MARK: - The journal

    /// Gathers what the replies of this shard have grown by, up to about `limit` bytes; those that are left out come first next
    /// time. The round before must have ended.
    func gatherJournal(limit: Int) -> JournalRound {
        let now = scheduler.now()
        let round = journalRound
        var left = limit
        grown.removeAll { reply in
            switch reply.journalNeed(at: now) {
            case .none: return true
            case .later: return false
            case .now:
                guard left > 0 else { return false }
                left -= reply.unjournalled
                round.append(reply)
                return true
            }
        }
        return round
    }

    /// A reply has something to journal.
    func hasGrown(_ reply: Reply) {
        grown.insert(reply)
    }

    /// Another process tells a reply of this shard something.
    func receive(_ signal: ReplySignal) {
        guard let reply = replies[signal.id] else { return }
        switch signal.kind {
        case .stop: reply.cancel(.stopped)
        case .read: reply.isReadElsewhere()
        // The reply was adopted, closed or removed. Its readers learn from the store which.
        case .gone: reply.cancel(.takenMeanwhile)
        }
    }

    // MARK: - Stopping

    /// Takes no more prompts; replies that are running go on. Who reads replies of other processes is sent away.
    public func stopAccepting() {
        isStopping = true
        for follower in followers.values {
            follower.lookNow()
        }
        for reply in replies.values {
            // Who waits for a store that is away must not hold up the stop.
            reply.wake()
        }
    }

    /// Ends the running replies: their readers get an error that gives the reason. Replies without text, and replies that are to be
    /// regenerated, are handed over to other processes.
    public func endReplies() {
        isEnding = true
        for reply in replies.values {
            reply.stop()
        }
    }

    static let ending = RelayError(.shuttingDown, "The server is being stopped. Ask again in a moment.")

    /// Throws if no model server is configured for the model, or if the queues of all its servers are full.
    ///
    /// - Returns: the server whose queue counts the prompt, if that has one.
    private func requireRoom(for model: String) async throws(RelayError) -> UpstreamDescription? {
        let choices = upstreams.choices(for: model)
        guard !choices.isEmpty else { throw RelayError(upstreams.refusal(of: model)) }
        guard let slots else { return nil }
        var refusal: RelayError?
        for choice in choices {
            let description = choice.upstream.description
            guard description.slots != nil else { return nil }
            do throws(RelayError) {
                try await slots.requireRoom(at: description, on: scheduler)
                return description
            } catch {
                refusal = refusal ?? error
            }
        }
        if let refusal { throw refusal }
        return nil
    }

    private func giveBack(_ room: UpstreamDescription?) {
        if let room { slots?.giveRoomBack(at: room) }
    }

    func refuseWhenStopping() throws(RelayError) {
        guard !isStopping else {
            throw RelayError(.shuttingDown, "The server is being stopped. Try again in a moment.")
        }
    }
}
