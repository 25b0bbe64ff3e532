import ChatterdBasics
import ChatterdPostgres
import ChatterdRelay

/// The journal of running replies, and the signals about them.
extension PostgresConversationStore {
    public func makeJournalBatch() -> any JournalBatch { PostgresJournalBatch(lease: lease) }

    public func journal(_ batches: [any JournalBatch]) async throws(RelayError) -> JournalOutcome {
        var transaction = Transaction()
        let queries = PostgresJournalBatch.queries(of: batches, owner: lease.id)
        if !queries.isEmpty {
            transaction.add(JournalStatements.writeLock)
        }
        var losses = queries.map { transaction.add($0) }
        if let lost = PostgresJournalBatch.lostQuery(of: batches, owner: lease.id) {
            losses.append(transaction.add(lost))
        }
        let sheets = PostgresJournalBatch.sheetQueries(of: batches, owner: lease.id).map { transaction.add($0) }
        let signalled = transaction.add(JournalStatements.signals(to: lease.id))
        let results = try await run(transaction)
        let lost = Set(losses.flatMap { results[$0] })
        // A restart whose confirmation was lost looks like another owner. The housekeeper searches for replies that no process works on.
        if !lost.isEmpty { lease.markUncertain() }
        var outcome = JournalOutcome(signals: results[signalled].compactMap { $0 })
        outcome.signals += lost.map { ReplySignal(id: $0, kind: .gone) }
        outcome.generation = sheets.compactMap { results[$0].first }.max() ?? 0
        return outcome
    }

    public func releaseSheets(before generation: Int32) {
        lease.releaseSheets(before: generation)
    }

    public func signal(_ kind: ReplySignal.Kind, to reply: ReplyRecord) async throws(RelayError) {
        try await run(JournalStatements.signal(kind, to: reply.turn, id: reply.id))
    }
}
