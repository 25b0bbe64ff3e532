import ChatterdLanguageModels
import ChatterdPostgres
import ChatterdRelay

/// The SQL of conversations. Every statement touches the rows of one appID. Order is by `seq`, never by time.
enum ConversationStatements {
    /// A turn that a statement has opened.
    struct NewTurn {
        let number: Int64
        /// The version of the rows below it.
        let version: HistoryVersion

        init(from row: inout Row) {
            number = Int64(row.nextInt())
            version = HistoryVersion(epoch: Int64(row.nextInt()), base: Int64(row.nextInt()))
        }
    }

    /// Appends the prompts of a new turn and the row of its reply, and returns the turn.
    ///
    /// Two concurrent statements on one conversation compute the same numbers; the primary key accepts one of them. The statement
    /// inserts no row if the conversation would exceed `limit` bytes with the `size` bytes of the prompts.
    static func openTurn(_ opening: TurnOpening, owner: ReplyID, size: Int, limit: Int) -> Query<NewTurn> {
        var parameters = turnParameters(of: opening, owner: owner, count: 12)
        parameters.append(.int8(size))
        parameters.append(.int8(limit))
        parameters.append(ConversationRevision.owner(of: opening.appID))
        return Query(openTurnStatement, parameters: parameters)
    }

    /// $1 to $9 of the statements that open a turn, in an array with room for `count` parameters. The last element of the columns is the
    /// row of the reply.
    private static func turnParameters(of opening: TurnOpening, owner: ReplyID, count: Int) -> [Parameter] {
        var parameters: [Parameter] = []
        parameters.reserveCapacity(count)
        parameters.append(.text(opening.appID))
        parameters.append(column(of: opening.prompts, reply: "assistant", \.role))
        parameters.append(column(of: opening.prompts, reply: "", \.content))
        parameters.append(column(of: opening.prompts, reply: "") { $0.extras ?? "" })
        parameters.append(.uuid(opening.id))
        parameters.append(.text(opening.model))
        parameters.append(.uuid(owner))
        parameters.append(opening.options.isEmpty ? .null : .utf8(opening.options))
        parameters.append(parameter(of: opening.onInterrupt))
        return parameters
    }

    /// A column of the rows of a turn: a text of each prompt, then that of the reply.
    private static func column(
        of prompts: [ModelMessage], reply: String, _ text: (ModelMessage) -> String
    ) -> Parameter {
        let size = prompts.reduce(reply.utf8.count) { $0 + text($1).utf8.count }
        var column = ParameterArray(count: prompts.count + 1, size: size)
        for prompt in prompts {
            column.append(text(prompt))
        }
        column.append(reply)
        return .array(of: .text, [column])
    }

    /// The column is null for the default policy.
    private static func parameter(of policy: InterruptPolicy) -> Parameter {
        policy == .close ? .null : .text(policy.rawValue)
    }

    private static let openTurnStatement = Statement(
        "open_turn", after: .rowScope, .text, .textArray, .textArray, .textArray, .uuid, .text, .uuid, .text, .text,
        .int8, .int8, .text,
        sql: """
            WITH l AS MATERIALIZED \(tip),
            \(ConversationRevision.changed(owner: "$12", from: "l WHERE l.total + $10 <= $11"))
            INSERT INTO chatts (appid, seq, turn, name, message, extras, \(replyColumns), opened)
            SELECT $1, l.last + p.ordinal, l.last + cardinality($2), p.name, p.message, nullif(p.extras, ''),
                \(replyValues(bytes: "$10")), changed.revision
            FROM changed, unnest($2, $3, $4) WITH ORDINALITY AS p (name, message, extras, ordinal), l
            RETURNING turn, \(ConversationRevision.versionColumns)
            """
    ) { row in
        NewTurn(from: &row)
    }

    /// Opens a turn as `openTurn` does, for a turn that follows another turn than the last one, or whose request has an idempotency
    /// key or minds running replies. It inserts no row if the parent does not exist, the key is in use, or a running reply is minded.
    ///
    /// A key is free if its reply is gone. A key that a concurrent request has just claimed looks free too, but then that request
    /// also has the same turn number, and the primary key rejects one of the two.
    static func openNamedTurn(
        _ opening: TurnOpening, owner: ReplyID, keyLifetime: Duration, size: Int, limit: Int
    ) -> Query<NewTurn> {
        let (parent, parentID): (Parameter, Parameter) =
            switch opening.parent {
            case nil: (.text(opening.whenBusy == .replace ? "replace" : "tip"), .null)
            case .start: (.text("start"), .null)
            case .reply(let id): (.text("reply"), .uuid(id))
            }
        return Query(
            openNamedTurnStatement,
            parameters: turnParameters(of: opening, owner: owner, count: 18) + [
                parent, parentID, opening.key.map { .text($0.text) } ?? .null,
                opening.key.map { .bytes($0.digest) } ?? .null, .int8(keyLifetime.components.seconds), .int8(size),
                .int8(limit), ConversationRevision.owner(of: opening.appID), .boolean(opening.whenBusy == .refuse),
            ])
    }

    private static let openNamedTurnStatement = Statement(
        "open_named_turn", after: .rowScope, .text, .textArray, .textArray, .textArray, .uuid, .text, .uuid, .text,
        .text, .text, .uuid,
        .text, .bytes, .int8, .int8, .int8, .text, .boolean,
        sql: """
            WITH l AS MATERIALIZED (
                SELECT * FROM \(tip) AS t
                WHERE NOT ($18 AND EXISTS (SELECT FROM chatts WHERE appid = $1 AND state = 'streaming'))
            ), parent AS (
                SELECT NULL::bigint AS seq WHERE $10 = 'tip'
                UNION ALL
                SELECT \(rowBeforeRunning) WHERE $10 = 'replace'
                UNION ALL
                SELECT seq FROM chatts WHERE $10 = 'reply' AND appid = $1 AND id = $11 AND turn = seq
                UNION ALL
                SELECT coalesce((
                    SELECT seq FROM chatts
                    WHERE appid = $1 AND seq < coalesce(
                        (SELECT seq FROM chatts WHERE appid = $1 AND state IS NOT NULL ORDER BY seq LIMIT 1),
                        9223372036854775807)
                    ORDER BY seq DESC LIMIT 1), 0)
                WHERE $10 = 'start'
            ), claimed AS (
                INSERT INTO chatterd_keys AS k (appid, key, digest, reply, expires_at)
                SELECT $1, $12, $13, $5, now() + make_interval(secs => $14) FROM parent, l WHERE $12 IS NOT NULL
                ON CONFLICT (appid, key) DO UPDATE SET
                    digest = excluded.digest, reply = excluded.reply, expires_at = excluded.expires_at
                    WHERE k.expires_at <= now() OR NOT \(standsForReply)
                RETURNING k.reply
            ), permitted AS (
                SELECT parent.seq FROM parent, l
                WHERE ($12 IS NULL OR EXISTS (SELECT FROM claimed)) AND l.total + $15 <= $16
            ), \(ConversationRevision.changed(owner: "$17", from: "permitted"))
            INSERT INTO chatts (appid, seq, turn, name, message, extras, \(replyColumns), after, opened)
            SELECT $1, l.last + p.ordinal, l.last + cardinality($2), p.name, p.message, nullif(p.extras, ''),
                \(replyValues(bytes: "$15")), CASE p.ordinal WHEN 1 THEN nullif(parent.seq, l.last) END, changed.revision
            FROM changed, parent, unnest($2, $3, $4) WITH ORDINALITY AS p (name, message, extras, ordinal), l
            RETURNING turn, \(ConversationRevision.versionColumns)
            """
    ) { row in
        NewTurn(from: &row)
    }

    /// The row that the first running turn of $1 follows, or 0; for another reply to a prompt the row above it. NULL if none is running.
    private static let rowBeforeRunning = """
        (SELECT CASE f.state WHEN 'prompt' THEN coalesce(f.after, a.seq) ELSE a.seq END
        FROM (SELECT seq FROM chatts WHERE appid = $1 AND state = 'streaming' ORDER BY seq LIMIT 1) AS t
        CROSS JOIN LATERAL (
            SELECT coalesce((
                SELECT seq FROM chatts WHERE appid = $1 AND seq < t.seq AND turn IS DISTINCT FROM t.seq
                ORDER BY seq DESC LIMIT 1), 0) AS seq) AS a
        CROSS JOIN LATERAL (
            SELECT state, after FROM chatts WHERE appid = $1 AND seq > a.seq ORDER BY seq LIMIT 1) AS f)
        """

    /// Sends a stop signal to the owner of each running reply of a conversation, if the turn of a reply is open there: to all but that
    /// one.
    static func stopRunning(appID: String, except id: ReplyID) -> Query<Void> {
        Query(stopRunningStatement, .text(appID), .uuid(id))
    }

    private static let stopRunningStatement = Statement(
        "stop_running", after: .rowScope, .text, .uuid,
        sql: """
            INSERT INTO chatterd_signals (holder, reply, kind, appid)
            SELECT c.holder, c.id, 'stop', c.appid FROM chatts c
            WHERE c.appid = $1 AND c.state = 'streaming' AND c.id <> $2
                AND EXISTS (SELECT FROM chatts n WHERE n.appid = $1 AND n.id = $2 AND n.state = 'streaming')
            FOR KEY SHARE OF c
            ON CONFLICT (holder, reply, kind) DO UPDATE SET at = now()
            """)

    /// The first running reply of a conversation.
    static func running(in appID: String) -> Query<ReplyID> { Query(runningStatement, .text(appID)) }

    private static let runningStatement = Statement(
        "first_running", after: .rowScope, .text, returnsBinary: true,
        sql: "SELECT id FROM chatts WHERE appid = $1 AND state = 'streaming' ORDER BY seq LIMIT 1"
    ) { row in
        row.nextReplyID()
    }

    /// The reply of an idempotency key, if the key is in use.
    static func keyedReply(appID: String, key: IdempotencyKey) -> Query<KeyedReply> {
        Query(keyedReplyStatement, .text(appID), .text(key.text), .bytes(key.digest))
    }

    /// The reply of an idempotency key.
    struct KeyedReply {
        let id: ReplyID
        /// Whether the key came with the same request.
        let isSameRequest: Bool
    }

    private static let keyedReplyStatement = Statement(
        "keyed_reply", after: .rowScope, .text, .text, .bytes, returnsBinary: true,
        sql: """
            SELECT reply, digest = $3 FROM chatterd_keys k
            WHERE appid = $1 AND key = $2 AND expires_at > now() AND \(standsForReply)
            """
    ) { row in
        KeyedReply(id: row.nextReplyID(), isSameRequest: row.nextBool())
    }

    /// The turn of a reply that a process owns, if the turn is open.
    static func openedTurn(appID: String, id: ReplyID, owner: ReplyID) -> Query<OpenTurn> {
        Query(openedTurnStatement, .text(appID), .uuid(id), .uuid(owner))
    }

    /// A turn whose reply starts or continues.
    struct OpenTurn {
        let number: Int64
        let model: String
        let options: [UInt8]
        let attempt: Int
    }

    private static let openedTurnStatement = Statement(
        "opened_turn", after: .rowScope, .text, .uuid, .uuid, returnsBinary: true,
        sql: """
            SELECT seq, model, options, coalesce(attempt, 1) FROM chatts
            WHERE appid = $1 AND id = $2 AND turn = seq AND state = 'streaming'
                AND \(ReplyStatements.isHolder("holder", "$3"))
            """
    ) { row in
        OpenTurn(
            number: Int64(row.nextInt()), model: row.nextText(), options: row.nextBytes(), attempt: row.nextInt())
    }

    /// Removes the turn of a reply that a process owns. It keeps the turn if later turns exist and the turn does not follow the row
    /// above it, because the removal would change which turn they follow.
    static func withdraw(appID: String, id: ReplyID, owner: ReplyID) -> Query<Void> {
        Query(withdrawStatement, .text(appID), .uuid(id), .uuid(owner))
    }

    private static let withdrawStatement = Statement(
        "withdraw", after: .rowScope, .text, .uuid, .uuid,
        sql: """
            WITH reply AS MATERIALIZED (
                SELECT appid, seq FROM chatts
                WHERE appid = $1 AND id = $2 AND turn = seq AND state = 'streaming'
                    AND \(ReplyStatements.isHolder("holder", "$3")) FOR UPDATE
            ), gone AS (
                DELETE FROM chatts c USING reply r WHERE c.appid = r.appid AND c.seq <= r.seq AND c.turn = r.seq AND (
                    NOT EXISTS (SELECT FROM chatts n WHERE n.appid = r.appid AND n.seq > r.seq)
                    OR NOT EXISTS (
                        SELECT FROM chatts p
                        WHERE p.appid = r.appid AND p.seq <= r.seq AND p.turn = r.seq AND p.after IS NOT NULL))
                RETURNING c.seq
            ), \(ConversationRevision.rebased(from: "gone"))
            SELECT FROM gone
            """)

    /// Appends another reply to the prompts of a reply. A `nil` model is the model of that reply. The statement inserts no row if
    /// the conversation exceeds `limit` bytes.
    static func openAlternative(
        to reply: ReplyRecord, as id: ReplyID, model: String?, owner: ReplyID, onInterrupt: InterruptPolicy, limit: Int
    ) -> Query<NewAlternative> {
        Query(
            openAlternativeStatement, .text(reply.turn.appID), .int8(reply.turn.number), .uuid(reply.id), .uuid(id),
            model.map { .text($0) } ?? .null, .uuid(owner), parameter(of: onInterrupt), .int8(limit),
            ConversationRevision.owner(of: reply.turn.appID))
    }

    private static let openAlternativeStatement = Statement(
        "open_alternative", after: .rowScope, .text, .int8, .uuid, .uuid, .text, .uuid, .text, .int8, .text,
        returnsBinary: true,
        sql: """
            WITH old AS MATERIALIZED (
                SELECT l.last, l.total, p.seq AS prompt, r.model, r.options
                FROM chatts r
                JOIN chatts p ON p.appid = r.appid AND p.seq = coalesce(r.after, r.seq - 1) AND p.state = 'prompt',
                    \(tip) AS l
                WHERE r.appid = $1 AND r.seq = $2 AND r.id = $3 AND r.turn = r.seq AND l.total <= $8
            ), \(ConversationRevision.changed(owner: "$9", from: "old"))
            INSERT INTO chatts (
                appid, seq, turn, name, message, state, id, model, holder, attempt, options, on_interrupt, total, after,
                opened)
            SELECT $1, old.last + 1, old.last + 1, 'assistant', '', 'streaming', $4, coalesce($5, old.model), $6, 1,
                old.options, $7, old.total, old.prompt, changed.revision
            FROM changed, old
            RETURNING turn, \(ConversationRevision.versionColumns), model, options
            """
    ) { row in
        NewAlternative(turn: NewTurn(from: &row), model: row.nextText(), options: row.nextBytes())
    }

    /// A turn for another answer to a prompt.
    struct NewAlternative {
        let turn: NewTurn
        let model: String
        let options: [UInt8]
    }

    /// Makes the next turn follow a complete reply, unless it does so already.
    static func choose(_ turn: Turn, id: ReplyID) -> Query<Void> {
        Query(
            chooseStatement, .text(turn.appID), .int8(turn.number), .uuid(id),
            ConversationRevision.owner(of: turn.appID))
    }

    private static let chooseStatement = Statement(
        "choose", after: .rowScope, .text, .int8, .uuid, .text,
        sql: """
            WITH chosen AS MATERIALIZED (
                SELECT r.seq, l.last, l.total
                FROM chatts r, \(tip) AS l
                WHERE r.appid = $1 AND r.seq = $2 AND r.id = $3 AND r.state = 'complete'
                    AND l.last <> r.seq AND (l.state = 'choice' AND l.after = r.seq) IS NOT TRUE
            ), \(ConversationRevision.changed(owner: "$4", from: "chosen"))
            INSERT INTO chatts (appid, seq, name, message, state, total, after, opened)
            SELECT $1, c.last + 1, '', '', 'choice', c.total, c.seq, changed.revision
            FROM changed, chosen c
            """)

    /// The state of a reply; no row if the reply is gone.
    static func replyState(of turn: Turn, id: ReplyID) -> Query<String> {
        Query(replyStateStatement, .text(turn.appID), .int8(turn.number), .uuid(id))
    }

    private static let replyStateStatement = Statement(
        "reply_state", after: .rowScope, .text, .int8, .uuid,
        sql: """
            SELECT state FROM chatts WHERE appid = $1 AND seq = $2 AND id = $3
            """
    ) { row in
        row.nextText()
    }

    /// Replaces a conversation by at least one message, and returns whether it had running replies.
    ///
    /// The numbers of turns are never used again, so a reply of a replaced turn finds no row.
    static func replace(appID: String, with messages: [ModelMessage]) -> Query<Bool> {
        Query(
            replaceStatement, .text(appID), .textArray(messages.map(\.role)), .textArray(messages.map(\.content)),
            .textArray(messages.map { $0.extras ?? "" }), ConversationRevision.owner(of: appID))
    }

    // The conditions on `keys` and `changed` are always true. They make the statement lock the keys first and the conversation next.
    private static let replaceStatement = Statement(
        "replace", after: .rowScope, .text, .textArray, .textArray, .textArray, .text,
        sql: """
            WITH keys AS (
                DELETE FROM chatterd_keys WHERE appid = $1
                    AND key IN (SELECT key FROM chatterd_keys WHERE appid = $1 ORDER BY key FOR UPDATE)
                RETURNING key
            ), \(ConversationRevision.changed(
                owner: "$5", from: "(SELECT count(*) AS count FROM keys) AS k WHERE k.count >= 0", rebases: true)),
            gone AS (
                DELETE FROM chatts WHERE appid = $1 AND (SELECT revision FROM changed) > 0 RETURNING seq, state
            ), added AS (
                INSERT INTO chatts (appid, seq, name, message, extras, opened)
                SELECT $1, l.last + p.ordinal, p.name, p.message, nullif(p.extras, ''), changed.revision
                FROM changed, unnest($2, $3, $4) WITH ORDINALITY AS p (name, message, extras, ordinal),
                    (SELECT coalesce(max(seq), 0) AS last FROM gone) AS l
            )
            SELECT coalesce(bool_or(state = 'streaming'), false) FROM gone
            """
    ) { row in
        row.nextBool()
    }

    /// Removes at most `limit` rows from the end of a conversation, so that the rest stays consistent.
    static func deleteRows(appID: String, limit: Int) -> Query<Deletion> {
        Query(deleteRowsStatement, .text(appID), .int8(limit))
    }

    /// The rows that one statement removed.
    struct Deletion {
        let count: Int
        /// Whether replies were running among them.
        let hadRunningReplies: Bool
    }

    private static let deleteRowsStatement = Statement(
        "delete_rows", after: .rowScope, .text, .int8,
        sql: """
            WITH gone AS (
                DELETE FROM chatts WHERE appid = $1 AND seq >= (
                    SELECT min(seq) FROM (SELECT seq FROM chatts WHERE appid = $1 ORDER BY seq DESC LIMIT $2) AS l)
                RETURNING state
            ), \(ConversationRevision.rebased(from: "gone"))
            SELECT count(*), coalesce(bool_or(state = 'streaming'), false) FROM gone
            """
    ) { row in
        Deletion(count: row.nextInt(), hadRunningReplies: row.nextBool())
    }

    /// Removes at most `limit` idempotency keys of a conversation whose replies are gone. It compares the reply too, because
    /// another request may claim the key meanwhile.
    static func deleteKeys(appID: String, limit: Int) -> Query<Void> {
        Query(deleteKeysStatement, .text(appID), .int8(limit))
    }

    private static let deleteKeysStatement = Statement(
        "delete_keys", after: .rowScope, .text, .int8,
        sql: """
            DELETE FROM chatterd_keys WHERE appid = $1 AND (key, reply) IN (
                SELECT k.key, k.reply FROM chatterd_keys k
                WHERE k.appid = $1 AND NOT \(standsForReply)
                LIMIT $2)
            """)

    /// Whether the reply of the key `k` exists.
    private static let standsForReply =
        "EXISTS (SELECT FROM chatts c WHERE c.appid = $1 AND c.id = k.reply AND c.turn = c.seq)"

    /// The size of a conversation in bytes, its last row included. The length of a TOASTed text costs no read of the text. The
    /// size omits text that earlier open turns produce later. It counts seeded rows only if they are the last ones.
    static func total(appID: String) -> Query<Int> { Query(totalStatement, .text(appID)) }

    private static let totalStatement = Statement(
        "conversation_total", after: .rowScope, .text, returnsBinary: true, sql: "SELECT l.total FROM \(tip) AS l"
    ) { row in
        row.nextInt()
    }

    /// The `seq` of the last row of a conversation, or 0, and the size of the conversation.
    static let tip = """
        (SELECT coalesce(t.seq, 0) AS last, t.state, t.after,
            coalesce(t.total, 0) + coalesce(octet_length(t.message), 0) + coalesce(octet_length(t.thinking), 0)
                + coalesce(octet_length(t.extras), 0) + \(rowCost) AS total
        FROM (VALUES (1)) AS one
        LEFT JOIN (
            SELECT seq, state, after, total, message, thinking, extras FROM chatts
            WHERE appid = $1 ORDER BY seq DESC LIMIT 1) AS t ON true)
        """

    /// The size that a row counts for in addition to its text, in bytes.
    static let rowCost = 256

    /// The columns that the row of a reply has and the rows of its prompts lack.
    private static let replyColumns = "state, id, model, holder, attempt, options, on_interrupt, total"
    private static func replyValues(bytes: String) -> String {
        """
        CASE p.ordinal WHEN cardinality($2) THEN 'streaming' ELSE 'prompt' END,
        CASE p.ordinal WHEN cardinality($2) THEN $5 ELSE gen_random_uuid() END,
        CASE p.ordinal WHEN cardinality($2) THEN $6 END, CASE p.ordinal WHEN cardinality($2) THEN $7 END,
        CASE p.ordinal WHEN cardinality($2) THEN 1 END, CASE p.ordinal WHEN cardinality($2) THEN $8 END,
        CASE p.ordinal WHEN cardinality($2) THEN $9 END, CASE p.ordinal WHEN cardinality($2) THEN l.total + \(bytes) END
        """
    }
}
