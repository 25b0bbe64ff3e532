import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The SQL that opens turns of several conversations, and ends replies of several, in one statement each: what `open_turn` and `close_turn` do
/// for one, without their cost for each. No conversation is in a group twice.
///
/// A group locks its keys and its conversations in their order, as `ConversationRevision` says. Its elements are expanded by `elements`, whose LIMIT makes
/// the planner expect one: so it looks up each row by its key, even with a plan from the time when the table was empty.
enum GroupStatements {
    /// A turn of a group that a statement has opened.
    struct Opened {
        /// The index of the turn in its group.
        let index: Int
        let turn: ConversationStatements.InsertedTurn
    }

    /// Opens turns that follow the last ones of their conversations, of prompts that have text only. A turn has no row if its conversation would
    /// exceed `limit` bytes, or if its idempotency key is in use.
    ///
    /// - Parameter sizes: the sizes that the prompts add to their conversations, in bytes.
    static func open(
        _ turns: [NewTurn], sizes: [Int], owner: ReplyID, keyLifetime: Duration, limit: Int
    ) -> Query<Opened> {
        var columns = OpeningColumns()
        for (turn, size) in zip(turns, sizes) {
            columns.append(turn, size: size)
        }
        let parameters =
            columns.parameters + [.int8(turns.count), .uuid(owner), .int8(limit), columns.digestParameter]
        guard turns.contains(where: { $0.key != nil }) else { return Query(openStatement, parameters: parameters) }
        return Query(
            openKeyedStatement,
            parameters: parameters + columns.keyParameters + [.int8(keyLifetime.components.seconds)])
    }

    private static let openStatement = Statement(
        "open_turns", after: .rowScopeOfGroup, .textArray, .uuidArray, .textArray, .textArray, .textArray, .int8Array,
        .textArray, .int8Array, .int8Array, .int8Array, .int8Array, .textArray, .textArray, .int8, .uuid, .int8,
        .uuidArray, returnsBinary: true, sql: opening(from: "l"), decode: opened)

    // A separate statement: groups without keys would pay for the claims too.
    private static let openKeyedStatement = Statement(
        "open_keyed_turns", after: .rowScopeOfGroup, .textArray, .uuidArray, .textArray, .textArray, .textArray,
        .int8Array, .textArray, .int8Array, .int8Array, .int8Array, .int8Array, .textArray, .textArray, .int8, .uuid,
        .int8, .uuidArray, .textArray, .textArray, .int8, returnsBinary: true,
        sql: opening(
            keys: (arrays: ", $18, $19", names: ", key, key_digest"),
            after: ConversationStatements.claimed(
                "l.key", digest: "decode(l.key_digest, 'hex')", for: "l.id", in: "l.appid", lifetime: "$20", from: "l")
                + ",",
            from: "l WHERE l.key IS NULL OR l.appid IN (SELECT appid FROM claimed)"),
        decode: opened)

    private static let opened: @Sendable (inout Row) -> Opened = { row in
        Opened(index: row.nextInt(), turn: ConversationStatements.InsertedTurn(from: &row))
    }

    /// The SQL that opens turns. The row of a reply comes after its prompts, and has no role.
    ///
    /// - Parameters:
    ///   - keys: further arrays, and the names of their columns.
    ///   - claims: a CTE that claims keys.
    ///   - permitted: the rows of `l` whose turns are opened.
    private static func opening(
        keys: (arrays: String, names: String) = ("", ""), after claims: String = "", from permitted: String
    ) -> String {
        """
        WITH l AS MATERIALIZED (
            SELECT * FROM \(elements(
                "$1, $2, $3, $4, $5, $6, $7, $8, $9, $17\(keys.arrays)",
                "appid, id, model, options, on_interrupt, size, owner, reserved, prompts, digest\(keys.names)", count: "$14")) AS u
            CROSS JOIN LATERAL \(ConversationStatements.tip(of: "u.appid")) AS t
            LEFT JOIN LATERAL (
                SELECT v.epoch AS known_epoch, v.base AS known_base FROM chatterd_conversations v
                WHERE v.appid = u.appid LIMIT 1) AS known ON true
            WHERE t.total + u.size <= $16
        ), \(claims)
        \(ConversationRevision.changed("appid, owner", from: permitted + " ORDER BY l.appid")), inserted AS (
            INSERT INTO chatts (
                appid, seq, turn, name, message, state, id, model, holder, attempt, options, on_interrupt, total, reserved,
                floor, history, opened)
            SELECT l.appid, (l.last + p.place) / (\(keepsRows))::integer, l.last + l.prompts + 1, coalesce(p.name, 'assistant'), p.message,
                CASE WHEN p.name IS NULL THEN 'streaming' ELSE 'prompt' END,
                CASE WHEN p.name IS NULL THEN l.id ELSE gen_random_uuid() END,
                CASE WHEN p.name IS NULL THEN l.model END, CASE WHEN p.name IS NULL THEN $15 END,
                CASE WHEN p.name IS NULL THEN 1 END, CASE WHEN p.name IS NULL THEN l.options END,
                CASE WHEN p.name IS NULL THEN l.on_interrupt END, CASE WHEN p.name IS NULL THEN l.total + l.size END,
                CASE WHEN p.name IS NULL THEN l.reserved END,
                CASE WHEN p.name IS NULL THEN \(ReplyFloor.added(as: "(l.last + p.place)", to: "l.appid")) END,
                CASE WHEN p.place = l.prompts THEN l.digest END, changed.revision
            FROM l JOIN changed ON changed.appid = l.appid
            JOIN unnest($10, $11, $12, $13) AS p (turn, place, name, message) ON p.turn = l.number
            RETURNING appid, seq, turn
        )
        SELECT l.number - 1, i.turn, changed.epoch, changed.base
        FROM inserted i JOIN l ON l.appid = i.appid JOIN changed ON changed.appid = i.appid
        WHERE i.seq = i.turn
        """
    }

    /// Whether no row of the conversation was removed between the beginning of the statement, which has read its last row, and its lock, for
    /// which the group may have waited. Otherwise the statement fails, by a division by zero: the numbers of the turn could be free although
    /// others came before it. (PostgreSQL would log the text of a row without its number.)
    private static let keepsRows = """
        CASE WHEN l.known_epoch IS NULL THEN changed.revision = 1
        ELSE changed.epoch = l.known_epoch AND changed.base = l.known_base END
        """

    /// The end of a reply in a group.
    struct End: Sendable {
        let turn: Turn
        let reply: ClosingReply
        let history: HistoryDigest?
    }

    /// Stores the ends of replies without a journal. It returns the indices of those that have changed a row: see `ReplyStatements.close`.
    static func close(_ ends: [End], owner: ReplyID) -> Query<Int> {
        var columns = EndColumns()
        for end in ends {
            columns.append(end)
        }
        return Query(closeStatement, parameters: columns.parameters + [.int8(ends.count), .uuid(owner)])
    }

    private static let closeStatement = Statement(
        "close_turns", after: .rowScopeOfGroup, .textArray, .int8Array, .uuidArray, .textArray, .textArray, .textArray,
        .textArray, .textArray, .textArray, .int8Array, .uuidArray, .int8, .uuid, returnsBinary: true,
        sql: """
            WITH e AS MATERIALIZED (
                SELECT u.* FROM \(elements(
                    "$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11",
                    "appid, seq, id, state, message, thinking, calls, last_event, account, attempt, history", count: "$12")) AS u
                CROSS JOIN LATERAL (
                    SELECT FROM chatts c WHERE c.appid = u.appid AND c.seq = u.seq AND \(isOpen("u")) LIMIT 1) AS open
                ORDER BY u.appid
            ), changed AS (
                UPDATE chatterd_conversations v SET revision = v.revision + 1, \(ConversationRevision.changedNow)
                FROM e WHERE v.appid = e.appid RETURNING v.appid, v.revision
            )
            UPDATE chatts c SET
                state = e.state, message = e.message, thinking = nullif(e.thinking, ''),
                extras = \(JournalText.extras("e.calls", of: "c")), last_event = nullif(e.last_event, ''),
                account = nullif(e.account, ''), finished = now(), history = e.history, closed = changed.revision
            FROM e LEFT JOIN changed ON changed.appid = e.appid
            WHERE c.appid = e.appid AND c.seq = e.seq AND \(isOpen("e"))
            RETURNING e.number - 1
            """
    ) { row in
        row.nextInt()
    }

    /// Whether the row `c` is the running reply of an element, and the process $13 owns it.
    private static func isOpen(_ element: String) -> String {
        "c.id = \(element).id AND \(ReplyStatements.isOwned("c.", by: "$13", attempt: "\(element).attempt"))"
    }

    /// The elements of arrays as rows, with their numbers from 1.
    private static func elements(_ arrays: String, _ names: String, count: String) -> String {
        "(SELECT * FROM unnest(\(arrays)) WITH ORDINALITY AS a (\(names), number) LIMIT \(count))"
    }
}

/// The turns of a group, as one array for each column of `open_turns` and `open_keyed_turns`.
private struct OpeningColumns {
    private var number: Int64 = 0
    private var conversations = ParameterArray()
    private var replies = ParameterArray()
    private var models = ParameterArray()
    private var options = ParameterArray()
    private var policies = ParameterArray()
    private var sizes = ParameterArray()
    private var owners = ParameterArray()
    private var marks = ParameterArray()
    private var counts = ParameterArray()
    private var turns = ParameterArray()
    private var places = ParameterArray()
    private var roles = ParameterArray()
    private var texts = ParameterArray()
    private var digests = ParameterArray()
    private var keys = ParameterArray()
    private var keyDigests = ParameterArray()

    mutating func append(_ turn: NewTurn, size: Int) {
        number += 1
        conversations.append(turn.conversation.text)
        replies.append(high: turn.id.high, low: turn.id.low)
        models.append(turn.model)
        if turn.options.isEmpty { options.appendNull() } else { options.append(utf8: turn.options.span) }
        // Null is the default policy.
        if turn.onInterrupt == .close { policies.appendNull() } else { policies.append(turn.onInterrupt.rawValue) }
        sizes.append(Int64(size))
        owners.append(ConversationRevision.listedOwner(of: turn))
        // As `UsageStatements.mark`.
        if turn.meter?.isLimited == false { marks.append(Int64(0)) } else { marks.appendNull() }
        counts.append(Int64(turn.prompts.count))
        digests.append(turn.digest)
        if let key = turn.key {
            keys.append(key.text)
            keyDigests.append(String(hexadecimal: key.digest))
        } else {
            keys.appendNull()
            keyDigests.appendNull()
        }
        for (index, prompt) in turn.prompts.enumerated() {
            appendRow(at: index + 1) { $0.append(prompt.role) }
            texts.append(prompt.content)
        }
        appendRow(at: turn.prompts.count + 1) { $0.appendNull() }
        texts.append("")
    }

    private mutating func appendRow(at place: Int, appendRole: (inout ParameterArray) -> Void) {
        turns.append(number)
        places.append(Int64(place))
        appendRole(&roles)
    }

    var digestParameter: Parameter { .array(of: .uuid, [digests]) }

    /// The idempotency keys, and their digests as hexadecimal digits.
    var keyParameters: [Parameter] { [.array(of: .text, [keys]), .array(of: .text, [keyDigests])] }

    /// The other arrays in the order of the statement.
    var parameters: [Parameter] {
        [
            .array(of: .text, [conversations]), .array(of: .uuid, [replies]), .array(of: .text, [models]),
            .array(of: .text, [options]), .array(of: .text, [policies]), .array(of: .int8, [sizes]),
            .array(of: .text, [owners]), .array(of: .int8, [marks]), .array(of: .int8, [counts]),
            .array(of: .int8, [turns]), .array(of: .int8, [places]), .array(of: .text, [roles]),
            .array(of: .text, [texts]),
        ]
    }
}

/// The ends of a group, as one array for each column of `close_turns`.
private struct EndColumns {
    private var conversations = ParameterArray()
    private var numbers = ParameterArray()
    private var replies = ParameterArray()
    private var attempts = ParameterArray()
    private var histories = ParameterArray()
    /// The states, texts, thoughts, calls of tools, last events and provenances.
    private var texts = [ParameterArray](repeating: ParameterArray(), count: 6)

    mutating func append(_ end: GroupStatements.End) {
        let reply = end.reply
        conversations.append(end.turn.conversation.text)
        numbers.append(end.turn.number)
        replies.append(high: reply.id.high, low: reply.id.low)
        attempts.append(Int64(reply.journalled.attempt))
        histories.append(end.history)
        var provenance = ByteBuffer()
        provenance.append(reply.provenance)
        texts[0].append(reply.ending.state.rawValue)
        texts[1].append(utf8: reply.text.span)
        texts[2].append(utf8: reply.thinking.span)
        texts[3].append(utf8: reply.toolCalls.span)
        texts[4].append(utf8: reply.ending.lastEvent.span)
        texts[5].append(utf8: provenance.array.span)
    }

    /// The arrays in the order of the statement.
    var parameters: [Parameter] {
        [.array(of: .text, [conversations]), .array(of: .int8, [numbers]), .array(of: .uuid, [replies])]
            + texts.map { .array(of: .text, [$0]) }
            + [.array(of: .int8, [attempts]), .array(of: .uuid, [histories])]
    }
}

extension ParameterArray {
    fileprivate mutating func append(_ digest: HistoryDigest?) {
        if let digest { append(high: digest.high, low: digest.low) } else { appendNull() }
    }
}
