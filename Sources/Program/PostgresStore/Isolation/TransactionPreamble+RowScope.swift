import ChatterdIdentity
import ChatterdPostgres

extension TransactionPreamble {
    /// Sets the scope of the transaction: that of the request; outside of requests that of the conversation or owner whose key, `$1`, the
    /// statement gets; and all rows for a statement without a key.
    ///
    /// Under a policy, PostgreSQL uses a condition of a statement with an index only if the condition leaks no row of another owner. It takes
    /// coalesce, and arithmetic with columns, for leaks, and then reads a whole conversation in the place of a row. So the statements compare
    /// `seq` with columns, CASE, `greatest` and `least`, or with a number that a materialized CTE has computed; a test explains all of them.
    static let rowScope = TransactionPreamble { parameters in
        Query(setStatement, .text(scope(for: parameters).setting))
    }

    /// As `rowScope`, for the first statement of a transaction that changes several conversations: it waits for a lock of one of them only
    /// shortly, because the others should not wait with it.
    static let rowScopeOfGroup = TransactionPreamble { parameters in
        Query(setForGroupStatement, .text(scope(for: parameters).setting))
    }

    private static func scope(for parameters: [Parameter]) -> RowScope {
        if let current = RowScope.current { return current }
        guard case .text(let key)? = parameters.first else { return .allRows }
        return RowScope(ConversationKey(parsing: key).owner)
    }

    /// Sets the owner, and the role that row-level security applies to. A login role that may not use that role keeps its own, to which no
    /// policy applies; `chatterd doctor` says so.
    ///
    /// Both settings end with the transaction, so the statement works behind a pooler that shares sessions.
    private static let setStatement = Statement("row_scope", .text, sql: "SELECT \(settings)")

    private static let setForGroupStatement = Statement(
        "group_scope", .text, sql: "SELECT \(settings), set_config('lock_timeout', '100ms', true)")

    private static let settings = """
        set_config('chatterd.owner', $1, true),
            CASE WHEN \(MemberRole.isUsable) THEN set_config('role', '\(MemberRole.name)', true) END
        """
}
