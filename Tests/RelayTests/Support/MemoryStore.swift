import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdRelay
import ChatterdTestSupport

/// The calls of a store.
enum StoreCall: Hashable {
    case openTurn, adopt, settleTurn, history, closeTurn, replace, journal, find, read, signal, restart, handOver,
        withdraw, storeSteps, steps, answer, approvals
}

/// The faults of a call.
enum StoreFault {
    /// The store cannot be reached.
    case unavailable
    /// The change is done, but its confirmation is lost.
    case lost
    /// The call waits for `release`.
    case hang
    /// The store refuses the call.
    case refused
    /// There is no memory for the requested history.
    case overloaded
}

/// The store of one process over a `MemoryDatabase`, with faults that the test sets.
final class MemoryStore: ConversationStore, @unchecked Sendable {
    let database: MemoryDatabase
    let process: Int
    var historyLimit = 1 << 20
    /// The faults of the next calls of each kind.
    var faults: [StoreCall: [StoreFault]] = [:]
    /// Whether the histories of new turns are left unread, as if there were no memory for them.
    var leavesHistoriesUnread = false
    /// Whether all calls fail.
    var isUnavailable = false
    /// The calls that always fail with a refusal.
    var refused: Set<StoreCall> = []
    private(set) var calls: [StoreCall] = []
    /// The bytes of each call of `journal`.
    private(set) var journalSizes: [Int] = []
    /// The number of owners that each flush of the journal looked up.
    private(set) var ownerChecks: [Int] = []
    /// The slots of the pieces on the sheet of each call of `journal`.
    private(set) var sheetSlots: [[SheetSlot]] = []
    /// The generation before which this process needs no sheets.
    private(set) var releasedSheets: Int32 = 0
    private var hanging: [(StoreCall, CheckedContinuation<Void, Never>)] = []

    init(_ database: MemoryDatabase, process: Int) {
        self.database = database
        self.process = process
    }

    func count(_ call: StoreCall) -> Int { calls.count { $0 == call } }

    /// Continues a call that hangs.
    func release(_ call: StoreCall) {
        guard let index = hanging.firstIndex(where: { $0.0 == call }) else { return }
        hanging.remove(at: index).1.resume()
    }

    func openTurn(_ opening: NewTurn) async throws(RelayError) -> OpeningOutcome {
        let isLost = try await begin(.openTurn)
        if let key = opening.key {
            if let known = database.keys[key.text] {
                guard known.digest == key.digest else { throw RelayError(.idempotencyKeyReused, "reused") }
                return .known(known.reply)
            }
            database.keys[key.text] = (key.digest, opening.id)
        }
        if let tools = opening.newTools { database.tools[opening.conversation] = tools }
        let turn = database.append(opening.prompts, to: opening.conversation, holder: process)
        database.replies[opening.id] = MemoryDatabase.Reply(
            turn: turn, model: opening.model, holder: process, options: opening.options,
            onInterrupt: opening.onInterrupt)
        try end(isLost)
        return .opened(turn, leavesHistoriesUnread ? TurnHistory(unreadBehind: []) : try read(turn), nil)
    }

    func tools(of conversation: ConversationKey) async throws(RelayError) -> [UInt8] {
        _ = try await begin(.find)
        return database.tools[conversation] ?? []
    }

    func knownReply(in conversation: ConversationKey, key: IdempotencyKey) async throws(RelayError) -> ReplyID? {
        _ = try await begin(.find)
        return database.keys[key.text]?.reply
    }

    func openedTurn(_ id: ReplyID, in conversation: ConversationKey) async throws(RelayError) -> OpenTurn? {
        _ = try await begin(.find)
        guard let reply = database.replies[id], reply.holder == process, reply.ending == nil else { return nil }
        return OpenTurn(
            turn: reply.turn, id: id, model: reply.model, options: reply.options, attempt: reply.attempt,
            history: try read(reply.turn))
    }

    func withdraw(_ id: ReplyID, in conversation: ConversationKey) async throws(RelayError) -> Bool {
        let isLost = try await begin(.withdraw)
        guard let reply = database.replies[id], reply.holder == process, reply.ending == nil else { return false }
        database.withdraw(reply.turn)
        database.replies[id] = nil
        try end(isLost)
        return true
    }

    func openAlternative(
        to reply: ReplyRecord, as id: ReplyID, model: String?, onInterrupt: InterruptPolicy?, reach: HistoryReach?,
        meter: Meter?
    ) async throws(RelayError) -> OpenTurn { throw Self.refusal }

    func adoptAbandoned(
        limit: Int, except known: [ReplyID], onClaim: (Turn, ReplyID) -> Void
    ) async throws(RelayError) -> [OpenTurn] {
        var adopted: [OpenTurn] = []
        for (id, var reply) in database.replies
        where adopted.count < limit && reply.ending == nil && !known.contains(id)
            && (reply.holder == MemoryDatabase.handedOver
                || reply.onInterrupt == .regenerate
                    && reply.adoptions < 2 && database.dead.contains(reply.holder))
        {
            reply.adoptions += reply.holder == MemoryDatabase.handedOver ? 0 : 1
            reply.holder = process
            reply.attempt += 1
            reply.page = ReplyPage(start: ReplyPosition(attempt: reply.attempt))
            database.replies[id] = reply
            database.assign(reply.turn, holder: process)
            onClaim(reply.turn, id)
            _ = try await begin(.adopt)
            adopted.append(
                OpenTurn(
                    turn: reply.turn, id: id, model: reply.model, options: reply.options, attempt: reply.attempt,
                    history: try read(reply.turn)))
        }
        return adopted
    }

    func makeJournalBatch() -> any JournalBatch { MemoryJournalBatch() }

    func journal(_ batches: [any JournalBatch]) async throws(RelayError) -> JournalOutcome {
        // The batches are read before any await, as if they were sent. Later changes of the batches have no effect.
        let entries = batches.compactMap { $0 as? MemoryJournalBatch }.flatMap(\.entries)
        let checks = batches.compactMap { $0 as? MemoryJournalBatch }.flatMap(\.checks)
        let isLost = try await begin(.journal)
        journalSizes.append(entries.reduce(0) { $0 + $1.page.end.total - $1.page.start.total })
        var signals = database.signals[process] ?? []
        for entry in entries {
            guard var reply = database.replies[entry.id], reply.ending == nil, reply.holder == process,
                reply.attempt == entry.page.start.attempt
            else {
                if !entry.isOnSheet {
                    signals.append(ReplySignal(id: entry.id, kind: .gone))
                }
                continue
            }
            if !entry.isOnSheet {
                reply.page.truncate(to: entry.page.start)
                reply.page.append(entry.page)
            }
            reply.save(entry.page, generation: database.sheetGeneration)
            database.replies[entry.id] = reply
        }
        ownerChecks.append(checks.count)
        for check in checks {
            let reply = database.replies[check.id]
            let isOwned = reply?.ending == nil && reply?.holder == process && reply?.attempt == check.attempt
            if !isOwned { signals.append(ReplySignal(id: check.id, kind: .gone)) }
        }
        sheetSlots.append(entries.filter(\.isOnSheet).map(\.slot))
        try end(isLost)
        return JournalOutcome(signals: signals, generation: database.sheetGeneration)
    }

    func releaseSheets(before generation: Int32) {
        releasedSheets = max(releasedSheets, generation)
    }

    func findReply(_ id: ReplyID) async throws(RelayError) -> ReplyRecord? {
        _ = try await begin(.find)
        return database.replies[id].map { reply in
            ReplyRecord(
                id: id, turn: reply.turn, model: reply.model, state: reply.ending?.state, attempt: reply.attempt,
                isAbandoned: database.dead.contains(reply.holder), createdAt: 0, finishedAt: nil)
        }
    }

    func readReply(
        _ reply: ReplyRecord, from position: ReplyPosition, steps: String?
    ) async throws(RelayError) -> ReplyPage {
        _ = try await begin(.read)
        guard let stored = database.replies[reply.id] else { throw RelayError(.replyNotFound, "gone") }
        var content = stored.page
        content.ending = stored.ending
        var page = content
        if content.end.covers(position) {
            page = content.suffix(from: position)
        } else if position.attempt == stored.attempt && stored.ending == nil {
            page = ReplyPage(start: position)
        }
        // As in a row, whose version changes with it.
        let version = "\(stored.steps.count).\(stored.steps.hashValue)"
        if stored.ending != nil || steps.map({ $0 != version }) ?? false {
            page.steps = ReplySteps(stored: stored.steps, version: version)
        }
        return page
    }

    func signal(_ kind: ReplySignal.Kind, to reply: ReplyRecord) async throws(RelayError) {
        _ = try await begin(.signal)
        guard let holder = database.replies[reply.id]?.holder else { return }
        database.signals[holder, default: []].append(ReplySignal(id: reply.id, kind: kind))
    }

    func choose(_ reply: ReplyRecord) async throws(RelayError) {
        throw Self.refusal
    }

    func deleteConversation(_ conversation: ConversationKey) async throws(RelayError) {
        database.delete(conversation)
    }

    func settleTurn(_ turn: Turn, isAbandonedHere: Bool, closesRegenerated: Bool) async throws(RelayError) -> Bool {
        let isLost = try await begin(.settleTurn)
        guard let prompt = database.prompt(of: turn) else { return true }
        if database.reply(to: turn) != nil { return true }
        let isDead =
            prompt.holder == process ? isAbandonedHere : prompt.holder.map { database.dead.contains($0) } ?? true
        guard isDead, closesRegenerated || prompt.holder == process || !database.isRegenerated(turn) else {
            return false
        }
        guard !refused.contains(.settleTurn) else { throw Self.refusal }
        database.settle(turn)
        try end(isLost)
        return true
    }

    func handOver(_ turn: Turn, id: ReplyID, attempt: Int, isEmpty: Bool) async throws(RelayError) -> Bool {
        let isLost = try await begin(.handOver)
        guard var reply = database.replies[id], reply.turn == turn, reply.holder == process, reply.ending == nil,
            reply.attempt == attempt, isEmpty || reply.onInterrupt == .regenerate
        else { return false }
        reply.holder = MemoryDatabase.handedOver
        database.replies[id] = reply
        database.assign(turn, holder: MemoryDatabase.handedOver)
        try end(isLost)
        return true
    }

    func restartTurn(_ turn: Turn, id: ReplyID, attempt: Int) async throws(RelayError) -> Int {
        let isLost = try await begin(.restart)
        guard let stored = database.replies[id], stored.turn == turn else {
            throw RelayError(.conversationReplaced, "replaced")
        }
        guard stored.holder == process, stored.ending == nil, (attempt...attempt + 1).contains(stored.attempt) else {
            throw RelayError(.interrupted, "taken")
        }
        if stored.attempt == attempt {
            database.restart(id)
        }
        try end(isLost)
        return attempt + 1
    }

    func storeSteps(_ steps: [UInt8], of turn: Turn, id: ReplyID, attempt: Int) async throws(RelayError) {
        let isLost = try await begin(.storeSteps)
        guard let stored = database.replies[id], stored.turn == turn else {
            throw RelayError(.conversationReplaced, "replaced")
        }
        guard stored.holder == process, stored.ending == nil, stored.attempt == attempt else {
            throw RelayError(.interrupted, "taken")
        }
        database.replies[id]?.steps = steps
        try end(isLost)
    }

    func steps(of turn: Turn, id: ReplyID) async throws(RelayError) -> StoredSteps {
        _ = try await begin(.steps)
        guard let reply = database.replies[id], reply.ending == nil else { return StoredSteps() }
        return StoredSteps(members: reply.steps, approvals: CallApprovals(parsing: reply.approvals))
    }

    func answer(
        _ answer: CallApprovals.Answer, to place: StepPlace, of turn: Turn, id: ReplyID
    ) async throws(RelayError) -> CallApprovals {
        let isLost = try await begin(.answer)
        guard let reply = database.replies[id] else { throw RelayError(.conversationReplaced, "gone") }
        let known = CallApprovals(parsing: reply.approvals)
        if reply.ending == nil, known[place] == nil {
            let separator = reply.approvals.isEmpty ? "" : ","
            database.replies[id]?.approvals += "\(separator)\(CallApprovals.key(of: place))\(answer.rawValue)"
        }
        try end(isLost)
        return CallApprovals(parsing: database.replies[id]?.approvals ?? "")
    }

    func approvals(of turn: Turn, id: ReplyID) async throws(RelayError) -> CallApprovals {
        _ = try await begin(.approvals)
        guard let reply = database.replies[id] else { throw RelayError(.conversationReplaced, "gone") }
        return CallApprovals(parsing: reply.approvals)
    }

    func history(of turn: Turn, for id: ReplyID, reach: HistoryReach?) async throws(RelayError) -> TurnHistory {
        _ = try await begin(.history)
        guard database.replies[id]?.turn == turn else { throw RelayError(.conversationReplaced, "replaced") }
        return try read(turn)
    }

    func closeTurn(_ turn: Turn, with reply: ClosingReply) async throws(RelayError) {
        let isLost = try await begin(.closeTurn)
        guard !refused.contains(.closeTurn) else { throw Self.refusal }
        guard database.replies[reply.id]?.turn == turn, database.prompt(of: turn) != nil,
            var stored = database.replies[reply.id]
        else {
            throw RelayError(.conversationReplaced, "replaced")
        }
        guard stored.holder == process, stored.attempt == reply.journalled.attempt else {
            throw RelayError(.interrupted, "taken")
        }
        if let ending = stored.ending {
            // The first close counts.
            guard ending.state == reply.ending.state, ending.lastEvent == reply.ending.lastEvent else {
                throw RelayError(.interrupted, "closed otherwise")
            }
        } else {
            guard stored.page.end.covers(reply.journalled) else {
                database.settle(turn)
                throw RelayError(.interrupted, "not whole")
            }
            stored.page.truncate(to: reply.journalled)
            stored.page.append(
                ReplyPage(
                    start: reply.journalled, text: reply.text, thinking: reply.thinking, toolCalls: reply.toolCalls))
            stored.ending = reply.ending
            database.replies[reply.id] = stored
            database.close(turn, as: reply.id, reply.ending.state)
        }
        database.provenances[reply.id] = reply.provenance
        try end(isLost)
    }

    func replaceConversation(
        _ conversation: ConversationKey, with messages: [ModelMessage]
    ) async throws(RelayError) {
        let isLost = try await begin(.replace)
        database.replace(conversation, with: messages)
        try end(isLost)
    }

    private func read(_ turn: Turn) throws(RelayError) -> TurnHistory {
        guard let history = database.history(of: turn, limit: historyLimit) else {
            throw RelayError(.conversationReplaced, "replaced")
        }
        return history
    }

    /// Records a call and applies its fault. Returns whether its confirmation must be lost.
    private func begin(_ call: StoreCall) async throws(RelayError) -> Bool {
        calls.append(call)
        if isUnavailable { throw Self.outage }
        guard var queue = faults[call], !queue.isEmpty else { return false }
        let fault = queue.removeFirst()
        faults[call] = queue
        switch fault {
        case .unavailable: throw Self.outage
        case .refused: throw Self.refusal
        case .overloaded: throw Self.overload
        case .lost: return true
        case .hang:
            await withCheckedContinuation { hanging.append((call, $0)) }
            if isUnavailable { throw Self.outage }
            return false
        }
    }

    private func end(_ isLost: Bool) throws(RelayError) {
        guard isLost else { return }
        var error = Self.outage
        error.isOutcomeUnknown = true
        throw error
    }

    private static let outage = RelayError(.storeUnavailable, "away", detail: "connection refused")
    private static let overload = RelayError(.overloaded, "no memory")
    private static let refusal = RelayError(.replyNotStored, "refused", detail: "a trigger says no")
}

/// A batch of the journal in memory.
final class MemoryJournalBatch: JournalBatch {
    /// The new content of a reply.
    struct Entry {
        let id: ReplyID
        let page: ReplyPage
        var isOnSheet = false
        var slot = SheetSlot()
    }

    private(set) var entries: [Entry] = []
    private(set) var checks: [(id: ReplyID, attempt: Int)] = []
    private var lastSlot: Int32 = 0

    func append(
        turn: Turn, id: ReplyID, from start: ReplyPosition, text: Span<UInt8>, thinking: Span<UInt8>,
        toolCalls: Span<UInt8>
    ) {
        entries.append(
            Entry(
                id: id,
                page: ReplyPage(start: start, text: text.array, thinking: thinking.array, toolCalls: toolCalls.array)))
    }

    func appendToSheet(
        turn: Turn, id: ReplyID, from start: ReplyPosition, slot: inout SheetSlot, generation: Int32,
        text: Span<UInt8>, thinking: Span<UInt8>, toolCalls: Span<UInt8>
    ) {
        let others = Int32(start.thinking + thinking.count + start.toolCalls)
        if !slot.isValid(for: .text, others: others, generation: generation) {
            lastSlot += 1
            slot = SheetSlot(number: lastSlot, part: .text, others: others, generation: generation)
        }
        entries.append(
            Entry(
                id: id,
                page: ReplyPage(start: start, text: text.array, thinking: thinking.array, toolCalls: toolCalls.array),
                isOnSheet: true, slot: slot))
    }

    func checkOwner(of turn: Turn, id: ReplyID, attempt: Int) {
        checks.append((id, attempt))
    }

    func removeAll() {
        entries = []
        checks = []
    }
}
