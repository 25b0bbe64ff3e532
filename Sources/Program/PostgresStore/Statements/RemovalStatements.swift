import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The SQL that removes a single turn. Its transaction has locked the conversation.
enum RemovalStatements {
    /// Removes a reply that has ended, and its prompts. It removes no row if another row follows one of them.
    static func remove(_ turn: Turn, id: ReplyID) -> Query<Void> {
        Query(removeStatement, .text(turn.conversation.text), .int8(turn.number), .uuid(id))
    }

    private static let removeStatement = Statement(
        "remove_turn", after: .rowScope, .text, .int8, .uuid,
        sql: """
            WITH reply AS MATERIALIZED (
                SELECT appid, seq, seq - \(RequestStatements.mostPrompts) AS first FROM chatts
                WHERE appid = $1 AND seq = $2 AND id = $3 AND turn = seq AND state <> 'streaming' FOR UPDATE
            ), rows AS MATERIALIZED (
                SELECT c.seq FROM reply r JOIN chatts c ON c.appid = r.appid AND c.turn = r.seq
                    AND c.seq BETWEEN r.first AND r.seq
            ), gone AS (
                DELETE FROM chatts c USING reply r
                WHERE c.appid = r.appid AND c.seq IN (SELECT seq FROM rows)
                    AND NOT EXISTS (
                        SELECT FROM chatts n WHERE n.appid = $1 AND n.seq > r.first AND n.after IS NOT NULL
                            AND n.after IN (SELECT seq FROM rows) AND n.seq NOT IN (SELECT seq FROM rows) OFFSET 0)
                    AND (
                        SELECT n.after IS NOT NULL FROM chatts n WHERE n.appid = r.appid AND n.seq > r.seq
                        ORDER BY n.seq LIMIT 1) IS NOT FALSE
                RETURNING c.seq
            ), \(ConversationRevision.rebased(from: "gone"))
            SELECT FROM gone
            """)

    /// Whether a reply runs; no row if it does not exist.
    static func isRunning(_ turn: Turn, id: ReplyID) -> Query<Bool> {
        Query(isRunningStatement, .text(turn.conversation.text), .int8(turn.number), .uuid(id))
    }

    private static let isRunningStatement = Statement(
        "is_turn_running", after: .rowScope, .text, .int8, .uuid, returnsBinary: true,
        sql: "SELECT state = 'streaming' FROM chatts WHERE appid = $1 AND seq = $2 AND id = $3 AND turn = seq"
    ) { row in
        row.nextBool()
    }
}
