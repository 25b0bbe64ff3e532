import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay
import ChatterdSockets

/// The conversations in the table `chatts`, with their replies, journals and idempotency keys. Confined to its shard.
public final class PostgresConversationStore: ConversationStore {
    /// The maximum number of attempts of a transaction that loses against others on the same conversation. Each time another one
    /// succeeds, so all transactions that may wait on one conversation succeed in the end.
    private static let attempts = 100

    let pool: PostgresPool
    let lease: ProcessLease
    let historyLimit: Int
    /// The size limit of a conversation, in bytes, over all of its turns.
    let conversationLimit: Int
    /// The size limit of all attachments of an app, in bytes; 0 for none.
    let attachmentsLimit: Int
    /// The limits of the text of apps and of people; `nil` for none.
    let quota: TextQuota?
    let memory: MemoryBudget
    /// The histories that the process keeps for their next turns.
    let histories: HistoryCache
    /// Connections for large results. Statements that open turns use other connections.
    let readers: PostgresPool
    /// Pages that several readers may share.
    private let confinedPages: Confined<ReplyPages>
    /// The lifetime of an idempotency key.
    let keyLifetime: Duration
    /// Wakes the feeds of the process.
    let signals: ConversationSignals?
    /// The names of the hooks that get the ends of replies.
    let hooks: [String]
    /// Turns that are opened, and replies that end, while the database is busy.
    private let confinedGroups: Confined<(openings: Openings, ends: Ends)>

    public init(
        pool: PostgresPool, readers: PostgresPool? = nil, lease: ProcessLease, historyLimit: Int,
        conversationLimit: Int = 1 << 30, attachmentsLimit: Int = 0, quota: TextQuota? = nil,
        memory: MemoryBudget = MemoryBudget(limit: 1 << 30),
        histories: HistoryCache? = nil, keyLifetime: Duration = .seconds(86_400),
        pageLifetime: Duration = .seconds(10), groupTimeout: Duration = .milliseconds(50),
        signals: ConversationSignals? = nil, hooks: [String] = []
    ) {
        self.signals = signals
        self.hooks = hooks
        self.pool = pool
        self.readers = readers ?? pool
        self.memory = memory
        self.histories = histories ?? HistoryCache(limit: 0, budget: memory)
        self.conversationLimit = conversationLimit
        self.attachmentsLimit = attachmentsLimit
        self.quota = quota
        confinedPages = Confined(
            ReplyPages(on: pool.shard, budget: memory, lifetime: pageLifetime), to: pool.shard)
        confinedGroups = Confined(
            (Openings(on: pool.shard, timeout: groupTimeout), Ends(on: pool.shard, timeout: groupTimeout)),
            to: pool.shard)
        self.lease = lease
        self.historyLimit = historyLimit
        self.keyLifetime = keyLifetime
    }

    public func openTurn(_ opening: NewTurn) async throws(RelayError) -> OpeningOutcome {
        try admit(opening.prompts, to: opening.conversation, answers: 1)
        defer { stored(in: opening.conversation) }
        for _ in 0..<Self.openings {
            if let opened = try await tryOpening(opening) { return opened }
        }
        throw RelayError(.replyNotFound, "There is no such reply in this conversation.")
    }

    /// The number of attempts to open a turn, if what keeps it out is gone before it is found.
    private static let openings = 5

    /// Opens a turn. `nil` if the running reply that it must not follow may have ended meanwhile, or the reply of its key may be gone.
    private func tryOpening(_ opening: NewTurn) async throws(RelayError) -> OpeningOutcome? {
        defer { signals?.changed(opening.conversation) }
        guard let bytes = Self.sharedSize(of: opening) else { return try await openAlone(opening) }
        let lane = Openings.Lane(source: opening.limitedSource)
        switch await openings.enter(Openings.Entry(opening, of: opening.conversation, in: lane, bytes: bytes)) {
        case .alone: return try await openAlone(opening, leaving: lane)
        case .leads(let followers):
            guard let outcome = await openTogether(opening, followers, in: lane) else {
                return try await openAlone(opening)
            }
            return await opened(opening, try outcome.get())
        case .done(let outcome):
            return await opened(opening, try outcome.get())
        }
    }

    private func opened(_ opening: NewTurn, _ rows: OpenedRows) async -> OpeningOutcome {
        let turn = Turn(conversation: opening.conversation, number: rows.turn.number)
        let history = await openedHistory(rows.history, of: turn, for: opening.id, at: rows.turn.version)
        return .opened(turn, history, rows.quota)
    }

    /// - Parameter lane: the lane of `openings` whose transaction it is; `nil` for none.
    private func openAlone(
        _ opening: NewTurn, leaving lane: Openings.Lane? = nil
    ) async throws(RelayError) -> OpeningOutcome? {
        let batch = openingBatch(opening)
        let results: Transaction.Results
        do {
            // What follows may read a long history.
            defer { if let lane { openings.leave(lane) } }
            results = try await runOwning(batch.transaction)
        }
        if let row = results[batch.open].first {
            let quota = batch.charge.flatMap { results[$0].first }
            return await opened(
                opening, OpenedRows(turn: row, history: batch.history.found(in: results), quota: quota))
        }
        if let keyed = batch.keyed, let known = try Self.knownReply(results[keyed]) { return .known(known) }
        if let running = batch.running, let reply = results[running].first { throw Self.busy(with: reply) }
        try await requireRoom(in: opening.conversation, for: Self.size(of: opening.prompts))
        // Without a parent, only a key that was in use is left.
        guard batch.running == nil, opening.parent != nil else { return nil }
        throw RelayError(.replyNotFound, "There is no such reply in this conversation.")
    }

    @inline(never)
    private static func busy(with reply: ReplyID) -> RelayError {
        var error = RelayError(
            .conversationBusy,
            "A prompt of this conversation is being answered. Read or stop that reply, or send the prompt without when_busy to wait."
        )
        error.reply = reply
        return error
    }

    @inline(never)
    private func openingBatch(_ opening: NewTurn) -> OpeningBatch {
        var attachments = Attachments()
        var stored = opening
        stored.prompts = attachments.detach(from: opening.prompts)
        return OpeningBatch(
            opening, by: openQuery(stored, size: Self.size(of: opening.prompts)),
            with: (attachments, limit: attachmentsLimit), bytes: Self.textSize(of: opening.prompts), in: histories)
    }

    /// - Parameter size: the size that the prompts add with their attachments, in bytes.
    private func openQuery(_ opening: NewTurn, size: Int) -> Query<ConversationStatements.InsertedTurn> {
        guard opening.parent != nil || opening.key != nil || opening.whenBusy != .wait else {
            return ConversationStatements.openTurn(
                opening, owner: lease.id, size: size, limit: conversationLimit)
        }
        return ConversationStatements.openNamedTurn(
            opening, owner: lease.id, keyLifetime: keyLifetime, size: size, limit: conversationLimit)
    }

    /// Throws `historyTooLarge` if the conversation is full. The statement has inserted no row then.
    private func requireRoom(in conversation: ConversationKey, for bytes: Int) async throws(RelayError) {
        let total = try await run(ConversationStatements.total(of: conversation)).first ?? 0
        guard total + bytes > conversationLimit else { return }
        throw RelayError(
            .historyTooLarge,
            "The conversation has reached its limit (CHATTERD_CONVERSATION_LIMIT, \(conversationLimit) bytes). Start it again "
                + "with /llmprep, or delete it.")
    }

    /// Throws `textFull` if the owner of a conversation or its app has reached the limit.
    func admit(_ messages: [ModelMessage], to conversation: ConversationKey, answers: Int = 0) throws(RelayError) {
        try quota?.admit(Self.size(of: messages), of: conversation.owner, answers: answers)
    }

    /// Records that the database may have what was admitted.
    func stored(in conversation: ConversationKey) {
        quota?.stored(of: conversation.owner)
    }

    /// The size that messages add to a conversation with their members and images, in bytes.
    static func size(of prompts: [ModelMessage]) -> Int {
        textSize(of: prompts) + prompts.count * ConversationStatements.rowCost
    }

    /// The size of the text of prompts, in bytes.
    static func textSize(of prompts: [ModelMessage]) -> Int {
        prompts.reduce(0) { $0 + $1.content.utf8.count + ($1.extras?.utf8.count ?? 0) }
    }

    public func tools(of conversation: ConversationKey) async throws(RelayError) -> [UInt8] {
        try await run(ConversationStatements.tools(of: conversation)).first ?? []
    }

    public func knownReply(in conversation: ConversationKey, key: IdempotencyKey) async throws(RelayError) -> ReplyID? {
        try Self.knownReply(try await run(ConversationStatements.keyedReply(in: conversation, key: key)))
    }

    private static func knownReply(
        _ found: Rows<ConversationStatements.KeyedReply>
    ) throws(RelayError) -> ReplyID? {
        guard let known = found.first else { return nil }
        guard known.isSameRequest else {
            throw RelayError(
                .idempotencyKeyReused, "This Idempotency-Key came with another request before. Use a new one.")
        }
        return known.id
    }

    public func openAlternative(
        to reply: ReplyRecord, as id: ReplyID, model: String?, onInterrupt: InterruptPolicy?,
        reach: HistoryReach? = nil, meter: Meter? = nil
    ) async throws(RelayError) -> OpenTurn {
        let conversation = reply.turn.conversation
        var transaction = Transaction()
        let open = transaction.add(
            ConversationStatements.openAlternative(
                to: reply, as: id, model: model, owner: lease.id, onInterrupt: onInterrupt, limit: conversationLimit,
                meter: meter))
        let charge = meter.map { transaction.add(UsageStatements.charge($0, for: id, in: conversation, bytes: 0)) }
        let history = HistoryBatch(of: conversation, in: histories, for: reach, &transaction)
        defer { signals?.changed(conversation) }
        let results = try await runOwning(transaction)
        guard let opened = results[open].first else {
            try await requireRoom(in: conversation, for: 0)
            throw Self.replyNotFound
        }
        let turn = Turn(conversation: conversation, number: opened.turn.number)
        var alternative = OpenTurn(
            turn: turn, id: id, model: opened.model, options: opened.options, attempt: 1,
            history: await openedHistory(
                history.found(in: results), of: turn, for: id, at: opened.turn.version))
        alternative.quota = charge.flatMap { results[$0].first }
        return alternative
    }

    public func adoptAbandoned(
        limit: Int, except known: [ReplyID], onClaim: (Turn, ReplyID) -> Void
    ) async throws(RelayError) -> [OpenTurn] {
        var transaction = Transaction()
        let adopt = transaction.add(SettlementStatements.adopt(by: lease.id, limit: limit, except: known))
        let adopted = Array(try await runOwning(transaction)[adopt])
        for turn in adopted {
            onClaim(turn.turn, turn.id)
        }
        return adopted
    }

    public func history(
        of turn: Turn, for id: ReplyID, reach: HistoryReach? = nil
    ) async throws(RelayError) -> TurnHistory {
        var transaction = Transaction()
        // The first query: rows that change later have a later version.
        let version = transaction.add(HistoryStatements.version(of: turn.conversation))
        let history = HistoryBatch(of: turn.conversation, upTo: turn.number, in: histories, for: reach, &transaction)
        // The last query: a reply that still exists then existed before.
        let state = transaction.add(ConversationStatements.isReplayed(turn, id: id))
        let results = try await run(transaction)
        guard results[state].count == 1 else { throw HistoryReader.replaced }
        return try await read(
            history.found(in: results), of: turn, for: id, at: results[version].first, evenIfUnfinished: true)
    }

    /// The history of a committed turn. It cannot fail: a history that the store cannot read now stays unread, and the reply reads
    /// it when it starts.
    private func openedHistory(
        _ first: HistoryBatch.FirstPage, of turn: Turn, for id: ReplyID, at version: HistoryVersion
    ) async -> TurnHistory {
        do throws(RelayError) {
            return try await read(first, of: turn, for: id, at: version, evenIfUnfinished: false)
        } catch {
            return TurnHistory(unreadBehind: [])
        }
    }

    /// Reads the rest of a history, and keeps it for the next turn.
    private func read(
        _ first: HistoryBatch.FirstPage, of turn: Turn, for id: ReplyID, at version: HistoryVersion?,
        evenIfUnfinished whole: Bool
    ) async throws(RelayError) -> TurnHistory {
        var reader = HistoryReader(
            from: first.rows, behind: first.start, first.validHistory(at: version), of: turn, for: id,
            limit: historyLimit, reach: first.reach, pool: readers, budget: memory)
        let history = try await reader.read(evenIfUnfinished: whole)
        if let kept = reader.history(keptOf: history, at: version) {
            histories.keep(kept)
        }
        return history
    }

    var pages: ReplyPages { confinedPages.value }
    var openings: Openings { confinedGroups.value.openings }
    var ends: Ends { confinedGroups.value.ends }

    static let replyNotFound = RelayError(.replyNotFound, "There is no such reply.")

    static func notReplayed(_ consequence: String) -> RelayError {
        RelayError(
            .replyNotComplete, "This reply is running, or has ended without an answer: \(consequence).")
    }

    // MARK: - Transactions

    /// Runs a transaction. It is repeated if it loses against another one on the same conversation.
    func run(
        _ transaction: Transaction, otherwise code: RelayError.Code = .internal
    ) async throws(RelayError) -> Transaction.Results {
        try await pool.runForRelay(transaction, attempts: Self.attempts, otherwise: code)
    }

    /// Runs a query as a transaction.
    @discardableResult
    func run<Record>(
        _ query: Query<Record>, otherwise code: RelayError.Code = .internal
    ) async throws(RelayError) -> Rows<Record> {
        try await pool.runForRelay(query, attempts: Self.attempts, otherwise: code)
    }

    /// Runs a transaction by which this process comes to own a turn. The other processes must know that it is alive.
    private func runOwning(_ transaction: Transaction) async throws(RelayError) -> Transaction.Results {
        do throws(PostgresError) {
            return try await runOwning(transaction, attempts: Self.attempts)
        } catch {
            throw RelayError(error, otherwise: .internal)
        }
    }

    /// As above, with a number of attempts.
    func runOwning(_ transaction: Transaction, attempts: Int) async throws(PostgresError) -> Transaction.Results {
        var transaction = transaction
        let now = pool.shard.now
        let isRenewing = lease.addRenewal(to: &transaction, ifLateAt: now)
        do throws(PostgresError) {
            let results = try await pool.run(transaction, attempts: attempts)
            if isRenewing {
                lease.renewed(at: now)
            }
            return results
        } catch {
            if RelayError(error, otherwise: .internal).code == .storeUnavailable {
                // If the transaction was committed, this process does not know its turn.
                lease.markUncertain()
            }
            throw error
        }
    }
}
