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
        var outcome = JournalOutcome(signals: results[signalled].compactMap { $0 })
        for loss in losses {
            for id in results[loss] where !outcome.signals.contains(ReplySignal(id: id, kind: .gone)) {
                outcome.signals.append(ReplySignal(id: id, kind: .gone))
            }
        }
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
