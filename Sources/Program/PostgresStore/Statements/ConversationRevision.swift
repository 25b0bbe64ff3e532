import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The SQL by which a statement counts a change of a conversation in `chatterd_conversations`.
///
/// The row lock of the conversation puts its changes into one order: a revision is assigned under the lock, and the lock is held until
/// the commit, so revisions are committed in their order.
///
/// A transaction locks rows in one order, so that none waits in a circle: first idempotency keys, by key and `appid`; then conversations, by
/// `appid`; then rows of `chatts`; then attachments, by digest, and their total; then the journal, or
/// meters, the source before the owner; then its lease. A statement that closes replies of several conversations skips those that are
/// locked, and never waits. Statements that change no conversation (adoption, restart, handover, release, signals, sweeps) lock rows of
/// `chatts` and the tables behind it only.
///
/// A process of an earlier version locks and writes no row here. Its rows of `chatts` have no revision, and a reply that ends in a
/// conversation without a row gets none.
enum ConversationRevision {
    /// The owner of a conversation, as a parameter.
    static func owner(of conversation: ConversationKey) -> Parameter { .text(conversation.listedOwner) }

    /// The owner of the conversation of a turn, as a parameter.
    static func owner(of opening: NewTurn) -> Parameter { .text(listedOwner(of: opening)) }

    /// The owner of the conversation of a turn.
    static func listedOwner(of opening: NewTurn) -> String {
        opening.isSingle
            ? ConversationKey.singleOwner(of: opening.conversation.owner) : opening.conversation.listedOwner
    }

    /// The assignments of a statement that changes a conversation now.
    static let changedNow = "updated_at = now(), changed_in = \(period(of: "now()"))"

    /// The beginning of the period of a time. Lists are ordered by periods first, and an index has them: longer ones make a page of a list
    /// read more rows, and shorter ones make fewer prompts update their rows in place. The default of the column says the same.
    static func period(of time: String) -> String { "date_bin('10 min', \(time), 'epoch')" }

    /// The time by which a list orders the conversation `v`, in its period. It is that of the last change, except after a change by a
    /// process of an earlier version, which sets no period: then it is the end of the period before.
    static let place = "greatest(v.changed_in, least(v.updated_at, v.changed_in + interval '599.999999 s'))"

    /// Whether the text is that of the owner of a single request. Indexes have the condition.
    static func isSingle(_ owner: String) -> String { "right(\(owner), 1) = E'\\x1D'" }

    /// The assignment of a statement after which a single request `table` is a conversation like any other.
    static func listed(_ table: String) -> String {
        "owner = CASE WHEN \(isSingle(table + ".owner")) THEN excluded.owner ELSE \(table).owner END"
    }

    /// A CTE, `changed`, that counts a change of conversation $1 and adds its row if there is none: once if `source` has a row, and not
    /// at all if it has none. It returns the revision, and the version of the rows that do not change. A single request is in the lists from
    /// then on.
    ///
    /// - Parameters:
    ///   - rebases: whether feeds cannot replay the change.
    ///   - clearsTools: whether the conversation keeps no tools any more.
    static func changed(
        owner: String, from source: String, rebases: Bool = false, clearsTools: Bool = false
    ) -> String {
        changed("$1, \(owner)", from: source, rebases: rebases, clearsTools: clearsTools)
    }

    /// The same CTE for several conversations: once for each row of `source`, which has the conversation and its owner in `columns`. It returns
    /// the conversations too.
    static func changed(
        _ columns: String, from source: String, rebases: Bool = false, clearsTools: Bool = false
    ) -> String {
        """
        changed AS (
            INSERT INTO chatterd_conversations AS v (appid, owner) SELECT \(columns) FROM \(source)
            ON CONFLICT (appid) DO UPDATE SET
                revision = v.revision + 1, \(changedNow)\(rebases ? ", base = v.revision + 1" : ""),
                \(listed("v"))\(clearsTools ? ", tools = NULL" : "")
            RETURNING v.appid, v.revision, v.epoch, v.base
        )
        """
    }

    /// The version of the conversation's rows after the CTE `changed`, as columns of the statement's result.
    static let versionColumns = "(SELECT epoch FROM changed), (SELECT base FROM changed)"

    /// A CTE, `rebased`, that counts the removal of rows from conversation $1, which feeds cannot replay: once if `source` has a row.
    static func rebased(from source: String) -> String {
        """
        rebased AS (
            UPDATE chatterd_conversations SET revision = revision + 1, base = revision + 1
            WHERE appid = $1 AND EXISTS (SELECT FROM \(source))
        )
        """
    }

    /// A CTE, `changed`, that counts the end of the reply `c` at number $2 of conversation $1, if the reply meets a condition. It returns
    /// the revision, or no row if the conversation has none.
    ///
    /// The statement reads the revision by `(SELECT revision FROM changed)` in the row that it updates or locks. That value is computed
    /// before the row is locked, so the conversation is locked first. If another statement ends the reply meanwhile, a revision
    /// without an event remains.
    static func ended(if condition: String) -> String {
        """
        changed AS (
            UPDATE chatterd_conversations v SET revision = v.revision + 1, \(changedNow)
            WHERE v.appid = $1 AND EXISTS (SELECT FROM chatts c WHERE c.appid = $1 AND c.seq = $2 AND \(condition))
            RETURNING v.revision
        )
        """
    }

    /// Locks the row of a conversation until the end of the transaction, if there is one.
    static func lock(_ conversation: ConversationKey) -> Query<Void> { Query(lockStatement, .text(conversation.text)) }

    private static let lockStatement = Statement(
        "lock_conversation", after: .rowScope, .text,
        sql: "SELECT FROM chatterd_conversations WHERE appid = $1 FOR UPDATE")

    /// Removes the row of a conversation without messages. The transaction has locked the row before, so no message comes meanwhile.
    static func removeEmpty(_ conversation: ConversationKey) -> Query<Void> {
        Query(removeEmptyStatement, .text(conversation.text))
    }

    private static let removeEmptyStatement = Statement(
        "remove_empty_conversation", after: .rowScope, .text,
        sql: """
            DELETE FROM chatterd_conversations
            WHERE appid = $1 AND NOT EXISTS (SELECT FROM chatts WHERE appid = $1)
            """)

    /// Removes the row of a conversation that has lost the prompt that created it, which was its second change. One that was created
    /// without a prompt stays.
    static func removeUnopened(_ conversation: ConversationKey) -> Query<Void> {
        Query(removeUnopenedStatement, .text(conversation.text))
    }

    private static let removeUnopenedStatement = Statement(
        "remove_unopened_conversation", after: .rowScope, .text,
        sql: """
            DELETE FROM chatterd_conversations
            WHERE appid = $1 AND revision = 2 AND base = 2 AND NOT EXISTS (SELECT FROM chatts WHERE appid = $1)
            """)
}
