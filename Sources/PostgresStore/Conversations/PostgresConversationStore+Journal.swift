import ChatterdBasics
import ChatterdPostgres
import ChatterdRelay

/// Replies in the making, as other processes see them.
extension PostgresConversationStore {
    public func makeJournalSheet() -> any JournalSheet { PostgresJournalSheet() }

    public func journal(_ sheets: [any JournalSheet]) async throws(RelayError) -> [ReplySignal] {
        let writing = PostgresJournalSheet.queries(of: sheets, holder: lease.parameter)
        var results = try await run(
            (writing.isEmpty ? [] : [Query(JournalStatements.writeLock)]) + writing
                + [Query(JournalStatements.signals, lease.parameter)])
        var signals: [ReplySignal] = []
        if let told = results.popLast() {
            for row in 0..<told.rowCount {
                if let id = told.replyID(row, 0),
                    let kind = told.string(row, 1).flatMap(ReplySignal.Kind.init(rawValue:))
                {
                    signals.append(ReplySignal(id: id, kind: kind))
                }
            }
        }
        for gone in results.dropFirst() {
            for row in 0..<gone.rowCount {
                if let id = gone.replyID(row, 0), !signals.contains(ReplySignal(id: id, kind: .gone)) {
                    signals.append(ReplySignal(id: id, kind: .gone))
                }
            }
        }
        return signals
    }

    public func signal(_ kind: ReplySignal.Kind, to reply: ReplyRecord) async throws(RelayError) {
        _ = try await run([
            Query(
                JournalStatements.signal, .text(reply.turn.appID), .int8(reply.turn.number), reply.id.parameter,
                .text(kind.rawValue))
        ])
    }
}
