import ChatterdBasics
import ChatterdSockets

/// What the statements of a pool run with: set once for a session of its own, and in each batch where a pooler lends sessions for
/// one transaction.
enum SessionSettings {
    /// Sets what the user has not set in another way; $2 says whether for one transaction only.
    ///
    /// A plan is made without looking at the parameters, so it is the same with and without a pooler.
    static let statement = Statement(
        "settings", .text, .boolean,
        sql: """
            SELECT set_config('plan_cache_mode', 'force_generic_plan', $2),
                   CASE current_setting('statement_timeout')
                       WHEN '0' THEN set_config('statement_timeout', $1, $2)
                   END
            """)

    /// The milliseconds after which the server stops a statement: a little before the client gives up.
    static func statementTimeout(_ limit: Duration) -> String {
        String(max(limit.nanoseconds / 1_000_000 * 9 / 10, 1))
    }
}
