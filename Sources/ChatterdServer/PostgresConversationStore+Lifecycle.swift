import Postgres
import Relay

/// Who makes a reply.
extension PostgresConversationStore {
    func handOver(_ turn: Turn, id: ReplyID, attempt: Int, isEmpty: Bool) async throws(RelayError) -> Bool {
        let results = try await run([
            Query(
                LeaseStatements.handOver, .text(turn.appID), .int8(turn.number), id.parameter, lease.parameter,
                .int8(attempt), .boolean(isEmpty))
        ])
        return results[0].affectedRows == 1
    }
}
