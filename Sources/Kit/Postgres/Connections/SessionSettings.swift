import ChatterdBasics
import ChatterdSockets

/// The session settings that the statements of a pool need. A connection sets them once if it owns its session, and in each
/// transaction if a pooler lends it one.
enum SessionSettings {
    /// Sets the options that the user has not set.
    ///
    /// The server plans without looking at the parameters, so the plan is the same with and without a pooler. It compiles no statement: in a
    /// large table it expects many rows of a statement that reads a few, and each call took 15 ms.
    static func set(timeLimit: Duration, forTransaction isLocal: Bool) -> Query<Void> {
        Query(setStatement, .text(statementTimeout(timeLimit)), .boolean(isLocal))
    }

    private static let setStatement = Statement(
        "settings", .text, .boolean,
        sql: """
            SELECT set_config('plan_cache_mode', 'force_generic_plan', $2), set_config('jit', 'off', $2),
                   CASE current_setting('statement_timeout')
                       WHEN '0' THEN set_config('statement_timeout', $1, $2)
                   END
            """)

    /// The number of the server process of the session.
    static let serverProcess = Statement("server_process", sql: "SELECT pg_backend_pid()") { row in row.nextInt() }

    /// The milliseconds after which the server stops a statement, a little before the timeout of the client.
    private static func statementTimeout(_ limit: Duration) -> String {
        String(max(limit.nanoseconds / 1_000_000 * 9 / 10, 1))
    }
}
