import ChatterdBasics
import ChatterdPostgres
import ChatterdRelay

/// The journal of running replies, and the signals about them.
extension PostgresConversationStore {
    public func makeJournalBatch() -> any JournalBatch { PostgresJournalBatch() }

    public func journal(_ batches: [any JournalBatch]) async throws(RelayError) -> [ReplySignal] {
        var transaction = Transaction()
        let queries = PostgresJournalBatch.queries(of: batches, owner: lease.id)
        if !queries.isEmpty {
            transaction.add(JournalStatements.writeLock)
        }
        let writes = queries.map { transaction.add($0) }
        let signalled = transaction.add(JournalStatements.signals(to: lease.id))
        let results = try await run(transaction)
        var signals = results[signalled].compactMap { $0 }
        for write in writes {
            for id in results[write] where !signals.contains(ReplySignal(id: id, kind: .gone)) {
                signals.append(ReplySignal(id: id, kind: .gone))
            }
        }
        return signals
    }

    public func signal(_ kind: ReplySignal.Kind, to reply: ReplyRecord) async throws(RelayError) {
        try await run(JournalStatements.signal(kind, to: reply.turn, id: reply.id))
    }
}
