import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

// The SQL that opens turns.
extension ConversationStatements {
    /// A turn whose rows a statement has inserted.
    struct InsertedTurn {
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
    static func openTurn(_ opening: NewTurn, owner: ReplyID, size: Int, limit: Int) -> Query<InsertedTurn> {
        var parameters = turnParameters(of: opening, owner: owner, count: 14)
        parameters.append(.int8(size))
        parameters.append(.int8(limit))
        parameters.append(ConversationRevision.owner(of: opening))
        parameters.append(UsageStatements.mark(of: opening.meter))
        parameters.append(parameter(of: opening.digest))
        return Query(openTurnStatement, parameters: parameters)
    }

    /// $1 to $9 of the statements that open a turn, in an array with room for `count` parameters. The last element of the columns is the
    /// row of the reply: it has no role, by which the statements know it.
    private static func turnParameters(of opening: NewTurn, owner: ReplyID, count: Int) -> [Parameter] {
        var parameters: [Parameter] = []
        parameters.reserveCapacity(count)
        parameters.append(.text(opening.conversation.text))
        parameters.append(column(of: opening.prompts, \.role) { $0.appendNull() })
        parameters.append(column(of: opening.prompts, \.content) { $0.append("") })
        parameters.append(column(of: opening.prompts, { $0.extras ?? "" }) { $0.append("") })
        parameters.append(.uuid(opening.id))
        parameters.append(.text(opening.model))
        parameters.append(.uuid(owner))
        parameters.append(opening.options.isEmpty ? .null : .utf8(opening.options))
        parameters.append(parameter(of: opening.onInterrupt))
        return parameters
    }

    /// A column of the rows of a turn: a text of each prompt, then the element of the reply.
    private static func column(
        of prompts: [ModelMessage], _ text: (ModelMessage) -> String, appendReply: (inout ParameterArray) -> Void
    ) -> Parameter {
        let size = prompts.reduce(0) { $0 + text($1).utf8.count }
        var column = ParameterArray(count: prompts.count + 1, size: size)
        for prompt in prompts {
            column.append(text(prompt))
        }
        appendReply(&column)
        return .array(of: .text, [column])
    }

    /// The column is null for the default policy.
    private static func parameter(of policy: InterruptPolicy) -> Parameter {
        policy == .close ? .null : .text(policy.rawValue)
    }

    private static func parameter(of digest: HistoryDigest?) -> Parameter {
        digest.map { .uuid(high: $0.high, low: $0.low) } ?? .null
    }

    private static let openTurnStatement = Statement(
        "open_turn", after: .rowScope, .text, .textArray, .textArray, .textArray, .uuid, .text, .uuid, .text, .text,
        .int8, .int8, .text, .int8, .uuid,
        sql: """
            WITH l AS MATERIALIZED \(tip()),
            \(ConversationRevision.changed(owner: "$12", from: "l WHERE l.total + $10 <= $11"))
            INSERT INTO chatts (appid, seq, turn, name, message, extras, \(replyColumns), opened)
            SELECT $1, l.last + p.ordinal, l.last + cardinality($2), coalesce(p.name, 'assistant'), p.message, nullif(p.extras, ''),
                \(replyValues(bytes: "$10", mark: "$13", digest: "$14")), changed.revision
            FROM changed, unnest($2, $3, $4) WITH ORDINALITY AS p (name, message, extras, ordinal), l
            RETURNING turn, \(ConversationRevision.versionColumns)
            """
    ) { row in
        InsertedTurn(from: &row)
    }

    /// Opens a turn as `openTurn` does, for a turn that follows another turn than the last one, or whose request has an idempotency
    /// key or minds running replies. It inserts no row if the parent does not exist, the key is in use, or a running reply is minded.
    ///
    /// A key that a concurrent request has just claimed looks free, but then that request also has the same turn number, and the primary key
    /// rejects one of the two.
    static func openNamedTurn(
        _ opening: NewTurn, owner: ReplyID, keyLifetime: Duration, size: Int, limit: Int
    ) -> Query<InsertedTurn> {
        let (parent, parentID): (Parameter, Parameter) =
            switch opening.parent {
            case nil: (.text(opening.whenBusy == .replace ? "replace" : "tip"), .null)
            case .start: (.text("start"), .null)
            case .reply(let id): (.text("reply"), .uuid(id))
            }
        return Query(
            openNamedTurnStatement,
            parameters: turnParameters(of: opening, owner: owner, count: 20) + [
                parent, parentID, opening.key.map { .text($0.text) } ?? .null,
                opening.key.map { .bytes($0.digest) } ?? .null, .int8(keyLifetime.components.seconds), .int8(size),
                .int8(limit), ConversationRevision.owner(of: opening),
                .boolean(opening.whenBusy == .refuse), UsageStatements.mark(of: opening.meter),
                parameter(of: opening.digest),
            ])
    }

    private static let openNamedTurnStatement = Statement(
        "open_named_turn", after: .rowScope, .text, .textArray, .textArray, .textArray, .uuid, .text, .uuid, .text,
        .text, .text, .uuid,
        .text, .bytes, .int8, .int8, .int8, .text, .boolean, .int8, .uuid,
        sql: """
            WITH l AS MATERIALIZED (
                SELECT * FROM \(tip()) AS t
                WHERE NOT ($18 AND EXISTS (SELECT FROM chatts WHERE \(ReplyFloor.isRunning())))
            ), parent AS (
                SELECT NULL::bigint AS seq WHERE $10 = 'tip'
                UNION ALL
                SELECT \(rowBeforeRunning) WHERE $10 = 'replace'
                UNION ALL
                SELECT seq FROM chatts WHERE $10 = 'reply' AND appid = $1 AND id = $11 AND turn = seq
                UNION ALL
                SELECT coalesce((
                    SELECT seq FROM chatts
                    WHERE appid = $1 AND seq < least(
                        (SELECT seq FROM chatts WHERE appid = $1 AND state IS NOT NULL ORDER BY seq LIMIT 1),
                        9223372036854775807)
                    ORDER BY seq DESC LIMIT 1), 0)
                WHERE $10 = 'start'
            ), \(claimed(
                "$12", digest: "$13", for: "$5", in: "$1", lifetime: "$14", from: "parent, l")), permitted AS (
                SELECT parent.seq FROM parent, l
                WHERE ($12 IS NULL OR EXISTS (SELECT FROM claimed)) AND l.total + $15 <= $16
            ), \(ConversationRevision.changed(owner: "$17", from: "permitted"))
            INSERT INTO chatts (appid, seq, turn, name, message, extras, \(replyColumns), after, opened)
            SELECT $1, l.last + p.ordinal, l.last + cardinality($2), coalesce(p.name, 'assistant'), p.message, nullif(p.extras, ''),
                \(replyValues(bytes: "$15", mark: "$19", digest: "$20")), CASE p.ordinal WHEN 1 THEN nullif(parent.seq, l.last) END, changed.revision
            FROM changed, parent, unnest($2, $3, $4) WITH ORDINALITY AS p (name, message, extras, ordinal), l
            RETURNING turn, \(ConversationRevision.versionColumns)
            """
    ) { row in
        InsertedTurn(from: &row)
    }

    /// A CTE, `claimed`, that claims a key for a reply for each row of `source`, unless the key is null or in use. It returns the conversations.
    /// It locks no key that is in use, for which the next request with that key would wait.
    static func claimed(
        _ key: String, digest: String, for reply: String, in conversation: String, lifetime: String, from source: String
    ) -> String {
        """
        claimed AS (
            INSERT INTO chatterd_keys AS k (appid, key, digest, reply, expires_at)
            SELECT \(conversation), \(key), \(digest), \(reply), now() + make_interval(secs => \(lifetime)) FROM \(source)
            WHERE \(key) IS NOT NULL
                AND NOT EXISTS (SELECT FROM chatterd_keys k WHERE \(isInUse(key, of: conversation)))
            ORDER BY \(key), \(conversation)
            ON CONFLICT (appid, key) DO UPDATE SET
                digest = excluded.digest, reply = excluded.reply, expires_at = excluded.expires_at
            RETURNING k.appid
        )
        """
    }

    /// The row that the first running turn of $1 follows, or 0; for another reply to a prompt the row above it. NULL if none is running.
    private static let rowBeforeRunning = """
        (SELECT CASE f.state WHEN 'prompt' THEN coalesce(f.after, a.seq) ELSE a.seq END
        FROM (SELECT seq FROM chatts WHERE \(ReplyFloor.isRunning()) ORDER BY seq LIMIT 1) AS t
        CROSS JOIN LATERAL (
            SELECT greatest((
                SELECT seq FROM chatts WHERE appid = $1 AND seq < t.seq AND turn IS DISTINCT FROM t.seq
                ORDER BY seq DESC LIMIT 1), 0) AS seq) AS a
        CROSS JOIN LATERAL (
            SELECT state, after FROM chatts WHERE appid = $1 AND seq > a.seq ORDER BY seq LIMIT 1) AS f)
        """

    /// Appends another reply to the prompts of a reply. A `nil` model is the model of that reply, a `nil` policy its policy. The statement
    /// inserts no row if the conversation exceeds `limit` bytes.
    static func openAlternative(
        to reply: ReplyRecord, as id: ReplyID, model: String?, owner: ReplyID, onInterrupt: InterruptPolicy?,
        limit: Int, meter: Meter? = nil
    ) -> Query<InsertedAlternative> {
        Query(
            openAlternativeStatement, .text(reply.turn.conversation.text), .int8(reply.turn.number), .uuid(reply.id),
            .uuid(id), model.map { .text($0) } ?? .null, .uuid(owner), onInterrupt.map { .text($0.rawValue) } ?? .null,
            .int8(limit), ConversationRevision.owner(of: reply.turn.conversation), UsageStatements.mark(of: meter))
    }

    private static let openAlternativeStatement = Statement(
        "open_alternative", after: .rowScope, .text, .int8, .uuid, .uuid, .text, .uuid, .text, .int8, .text, .int8,
        returnsBinary: true,
        sql: """
            WITH reply AS MATERIALIZED (
                SELECT coalesce(after, seq - 1) AS prompt, model, options, on_interrupt FROM chatts
                WHERE appid = $1 AND seq = $2 AND id = $3 AND turn = seq
            ), old AS MATERIALIZED (
                SELECT l.last, l.total, l.opened, l.floor, p.seq AS prompt, r.model, r.options, r.on_interrupt
                FROM reply r JOIN chatts p ON p.appid = $1 AND p.seq = r.prompt AND p.state = 'prompt', \(tip()) AS l
                WHERE l.total <= $8
            ), \(ConversationRevision.changed(owner: "$9", from: "old"))
            INSERT INTO chatts (
                appid, seq, turn, name, message, state, id, model, holder, attempt, options, on_interrupt, total, after,
                opened, reserved, floor)
            SELECT $1, l.last + 1, l.last + 1, 'assistant', '', 'streaming', $4, coalesce($5, l.model), $6, 1,
                l.options, nullif(coalesce($7, l.on_interrupt), 'close'), l.total, l.prompt, changed.revision, $10, \(ReplyFloor.added(as: "(l.last + 1)"))
            FROM changed, old l
            RETURNING turn, \(ConversationRevision.versionColumns), model, options
            """
    ) { row in
        InsertedAlternative(turn: InsertedTurn(from: &row), model: row.nextText(), options: row.nextBytes())
    }

    /// A turn for another answer to a prompt.
    struct InsertedAlternative {
        let turn: InsertedTurn
        let model: String
        let options: [UInt8]
    }

    /// The columns that the row of a reply has and the rows of its prompts lack; and the digest of the request, which the last prompt has.
    private static let replyColumns =
        "state, id, model, holder, attempt, options, on_interrupt, total, reserved, floor, history"
    private static func replyValues(bytes: String, mark: String, digest: String) -> String {
        """
        CASE WHEN p.name IS NULL THEN 'streaming' ELSE 'prompt' END,
        CASE WHEN p.name IS NULL THEN $5 ELSE gen_random_uuid() END,
        CASE WHEN p.name IS NULL THEN $6 END, CASE WHEN p.name IS NULL THEN $7 END,
        CASE WHEN p.name IS NULL THEN 1 END, CASE WHEN p.name IS NULL THEN $8 END,
        CASE WHEN p.name IS NULL THEN $9 END, CASE WHEN p.name IS NULL THEN l.total + \(bytes) END,
        CASE WHEN p.name IS NULL THEN \(mark)::bigint END,
        CASE WHEN p.name IS NULL THEN \(ReplyFloor.added(as: "(l.last + p.ordinal)")) END,
        CASE WHEN p.ordinal = cardinality($2) - 1 THEN \(digest) END
        """
    }
}
