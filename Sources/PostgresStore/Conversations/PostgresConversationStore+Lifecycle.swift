import ChatterdPostgres
import ChatterdRelay

/// The owner of a reply: handover, and openings that the database has not confirmed.
extension PostgresConversationStore {
    public func handOver(_ turn: Turn, id: ReplyID, attempt: Int, isEmpty: Bool) async throws(RelayError) -> Bool {
        let results = try await run([
            Query(
                LeaseStatements.handOver, .text(turn.appID), .int8(turn.number), id.parameter, lease.parameter,
                .int8(attempt), .boolean(isEmpty))
        ])
        return results[0].affectedRows == 1
    }

    public func openedTurn(_ id: ReplyID, appID: String) async throws(RelayError) -> ReopenedTurn? {
        let results = try await run([
            Query(ConversationStatements.openedTurn, .text(appID), id.parameter, lease.parameter)
        ])
        guard let number = results[0].int(0, 0) else { return nil }
        let turn = Turn(appID: appID, number: Int64(number))
        return ReopenedTurn(
            turn: turn, id: id, model: results[0].string(0, 1) ?? "", options: results[0].array(0, 2),
            attempt: results[0].int(0, 3) ?? 1,
            // The reply reads its history when it starts.
            history: TurnHistory(unreadBehind: []))
    }

    public func withdraw(_ id: ReplyID, appID: String) async throws(RelayError) -> Bool {
        let results = try await run([
            Query(ConversationStatements.withdraw, .text(appID), id.parameter, lease.parameter),
            Query(ConversationStatements.openedTurn, .text(appID), id.parameter, lease.parameter),
        ])
        guard let number = results[1].int(0, 0) else { return results[0].affectedRows > 0 }
        return try await settleTurn(
            Turn(appID: appID, number: Int64(number)), isAbandoned: true, isUnwanted: true)
    }
}
