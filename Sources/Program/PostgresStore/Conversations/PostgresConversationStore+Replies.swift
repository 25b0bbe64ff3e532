import ChatterdBasics
import ChatterdChat
import ChatterdPostgres
import ChatterdRelay
import ChatterdSockets

/// Closing, finding and reading replies.
extension PostgresConversationStore {
    public func closeTurn(_ turn: Turn, with reply: ClosingReply) async throws(RelayError) {
        defer { signals?.changed(turn.conversation) }
        do throws(RelayError) {
            try await storeEnd(of: turn, with: reply)
        } catch {
            if error.code == .replyNotStored || error.code == .storeUnavailable {
                // The reply stays open. This process releases it later if it does not know it then; other processes do so if this
                // process ends.
                lease.markUncertain()
            }
            throw error
        }
    }

    private func storeEnd(of turn: Turn, with reply: ClosingReply) async throws(RelayError) {
        let history = reply.history
        let digest = await LongWork.run(on: history?.size ?? 0) { history?.digest() }
        if try await close(GroupStatements.End(turn: turn, reply: reply, history: digest)) { return }
        let attempt = reply.journalled.attempt
        let ownership = ReplyStatements.ownership(of: turn, id: reply.id, by: lease.id)
        guard let found = try await run(ownership, otherwise: .replyNotStored).first else {
            throw RelayError(
                .conversationReplaced, "The conversation was replaced while the answer was being generated.")
        }
        guard found.isOwner, found.attempt == attempt else {
            // This process is the owner at another attempt: the database went back to an earlier state.
            if found.isOwner, found.state == nil { lease.markUncertain() }
            throw Self.refused("another process has closed or adopted the turn")
        }
        if let state = found.state {
            // The database lost the confirmation of an earlier try.
            if state == reply.ending.state, found.lastEvent == reply.ending.lastEvent { return }
            throw Self.refused("an earlier close of the turn with another ending was committed")
        }
        var transaction = Transaction()
        transaction.add(SettlementStatements.closeCut(turn, id: reply.id, owner: lease.id, attempt: attempt))
        tellHooks(ofEndOf: turn, &transaction)
        _ = try await run(transaction, otherwise: .replyNotStored)
        throw Self.refused("the journal of the reply has a gap: the turn is closed with the text before it")
    }

    /// Stores the end of a reply. Returns whether that has changed its row.
    private func close(_ end: GroupStatements.End) async throws(RelayError) -> Bool {
        guard hooks.isEmpty, let bytes = Self.sharedSize(of: end.reply) else { return try await closeAlone(end) }
        let lane = Ends.Lane()
        switch await ends.enter(Ends.Entry(end, of: end.turn.conversation, in: lane, bytes: bytes)) {
        case .alone:
            defer { ends.leave(lane) }
            return try await closeAlone(end)
        case .leads(let followers):
            guard let outcome = await closeTogether(end, followers, in: lane) else { return try await closeAlone(end) }
            return try outcome.get()
        case .done(let outcome):
            return try outcome.get()
        }
    }

    private func closeAlone(_ end: GroupStatements.End) async throws(RelayError) -> Bool {
        var transaction = Transaction()
        let close = transaction.add(
            ReplyStatements.close(end.turn, with: end.reply, history: end.history, owner: lease.id))
        tellHooks(ofEndOf: end.turn, &transaction)
        return try await run(transaction, otherwise: .replyNotStored)[close].affectedRows == 1
    }

    /// Has the hooks told of the end of a reply, if the transaction stores it.
    private func tellHooks(ofEndOf turn: Turn, _ transaction: inout Transaction) {
        guard !hooks.isEmpty else { return }
        transaction.add(DeliveryStatements.add(endOf: turn, for: hooks))
    }

    private static func refused(_ detail: String) -> RelayError {
        RelayError(.interrupted, RelayError.ownershipLost.message, detail: detail)
    }

    public func restartTurn(_ turn: Turn, id: ReplyID, attempt: Int) async throws(RelayError) -> Int {
        var transaction = Transaction()
        transaction.add(ReplyStatements.restart(turn, id: id, owner: lease.id, attempt: attempt))
        let ownership = transaction.add(ReplyStatements.ownership(of: turn, id: id, by: lease.id))
        guard let found = try await run(transaction)[ownership].first else { throw RelayError.conversationGone }
        // This process is the owner and the attempt is one higher: this call or an earlier unconfirmed one has restarted the reply.
        guard found.state == nil, found.isOwner, found.attempt == attempt + 1 else {
            throw RelayError.ownershipLost
        }
        return attempt + 1
    }

    public func storeSteps(_ steps: [UInt8], of turn: Turn, id: ReplyID, attempt: Int) async throws(RelayError) {
        var transaction = Transaction()
        transaction.add(ReplyStatements.storeSteps(steps, of: turn, id: id, owner: lease.id, attempt: attempt))
        let ownership = transaction.add(ReplyStatements.ownership(of: turn, id: id, by: lease.id))
        guard let found = try await run(transaction, otherwise: .replyNotStored)[ownership].first else {
            throw RelayError.conversationGone
        }
        guard found.state == nil, found.isOwner, found.attempt == attempt else { throw RelayError.ownershipLost }
    }

    public func steps(of turn: Turn, id: ReplyID) async throws(RelayError) -> StoredSteps {
        try await run(ReplyStatements.steps(of: turn, id: id)).first ?? StoredSteps()
    }

    public func answer(
        _ answer: CallApprovals.Answer, to place: StepPlace, of turn: Turn, id: ReplyID
    ) async throws(RelayError) -> CallApprovals {
        var transaction = Transaction()
        transaction.add(ReplyStatements.answer(answer, to: place, of: turn, id: id))
        let approvals = transaction.add(ReplyStatements.approvals(of: turn, id: id))
        guard let found = try await run(transaction)[approvals].first else { throw RelayError.conversationGone }
        return found
    }

    public func approvals(of turn: Turn, id: ReplyID) async throws(RelayError) -> CallApprovals {
        guard let found = try await run(ReplyStatements.approvals(of: turn, id: id)).first else {
            throw RelayError.conversationGone
        }
        return found
    }

    public func settleTurn(
        _ turn: Turn, isAbandonedHere: Bool, closesRegenerated: Bool
    ) async throws(RelayError) -> Bool {
        var transaction = Transaction()
        transaction.add(
            SettlementStatements.settleTurn(
                turn, process: lease.id, isAbandonedHere: isAbandonedHere, closesRegenerated: closesRegenerated))
        tellHooks(ofEndOf: turn, &transaction)
        let step = transaction.add(SettlementStatements.isSettled(turn, process: lease.id))
        defer { signals?.changed(turn.conversation) }
        let settlement = try await run(transaction, otherwise: .replyNotStored)[step].first
        if isAbandonedHere, settlement?.isOwner == true {
            // The housekeeper releases the reply for regeneration if this process still does not know it then.
            lease.markUncertain()
        } else if settlement?.isOwnerDead == true {
            // The client wants the reply regenerated. Any process with room adopts a released reply.
            try await run(LeaseStatements.releaseDead(turn))
        }
        return settlement?.isSettled ?? false
    }

    public func findReply(_ id: ReplyID) async throws(RelayError) -> ReplyRecord? {
        try await run(ReplyStatements.find(id)).first
    }

    public func readReply(
        _ reply: ReplyRecord, from position: ReplyPosition, steps: String?
    ) async throws(RelayError) -> ReplyPage {
        var position = position
        position.isEnd = false
        if let page = pages.page(of: reply.id, from: position) { return page }
        // A running reply grows, so a page that is under way may be too old to share.
        guard reply.state != nil else { return try await readPage(of: reply, from: position, steps: steps) }
        return try await pages.shared(reply.id, from: position) { () async throws(RelayError) in
            try await readPage(of: reply, from: position, steps: nil)
        }
    }

    private func readPage(
        of reply: ReplyRecord, from position: ReplyPosition, steps: String?
    ) async throws(RelayError) -> ReplyPage {
        var position = position
        while true {
            var transaction = Transaction()
            let row = transaction.add(
                ReplyStatements.read(
                    reply, from: position, steps: steps, limit: ReplyPageReader.chunk + ReplyPageReader.slack))
            let journal = transaction.add(
                JournalStatements.read(
                    reply.id, in: reply.turn.conversation, from: position, limit: ReplyPageReader.limit))
            let results = try await readers.runForRelay(transaction)
            guard let stored = results[row].first else { throw Self.replyNotFound }
            let reader = ReplyPageReader(stored, journal: results[journal])
            let found = reader.pages(from: position)
            if let first = found.first {
                // A short reply has few readers and costs little. The last page of a long reply costs as much as its first.
                if stored.state != nil, first.ending == nil || first.end.total > ReplyPageReader.limit {
                    pages.store(found, of: reply.id)
                }
                return first
            }
            // The reply does not have this position. There is always a page at its start.
            position = ReplyPosition(attempt: stored.attempt)
        }
    }
}
