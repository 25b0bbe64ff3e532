import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The SQL of limits and usage. It crosses owners: each statement names the source or the owner that it concerns, except those of the
/// housekeeper.
///
/// A charge is a request that counts: open with reserved tokens while its reply runs, then settled with the used ones by a trigger, in
/// the transaction that ends the reply. The housekeeper moves settled charges to the usage by day.
/// docs/decisions/0030-limits.md has the reasons.
enum UsageStatements {
    /// The tokens that a request reserves for an answer whose length it does not limit.
    static let standardAnswer = 1_024
    /// The most tokens that a request reserves for its prompt. A longer history seldom fits into the context of a model.
    static let longestPrompt = 32_768
    /// The number of days for which the usage is kept.
    static let keptDays = 92
    /// The SQLSTATE with which `chatterd_charge` refuses a request.
    static let refusal = "CH429"

    // MARK: - Charges

    /// Counts the request of a reply that an earlier statement of the transaction has opened; no row if it has opened none. It fails
    /// with `refusal` if a limit is reached, so that the transaction has no effect.
    ///
    /// - Parameter bytes: the size of the prompt; the size of the conversation counts instead if it is greater.
    static func charge(_ meter: Meter, for id: ReplyID, in conversation: ConversationKey, bytes: Int) -> Query<Quota> {
        guard meter.isLimited else { return chargeUnlimited(meter, for: id, in: conversation, bytes: bytes) }
        return charge(meter, for: id, .text(conversation.text), holder: .null, bytes: bytes, answer: nil)
    }

    /// The value of `chatts.reserved` in the new row of a reply: 0 if the principal has no limits, so that the end of the reply settles
    /// its charge. `chatterd_charge` sets it for other principals.
    static func mark(of meter: Meter?) -> Parameter { meter?.isLimited == false ? .int8(0) : .null }

    /// Counts the request of a principal without limits: it adds the row that `chatterd_charge` adds, and checks nothing.
    private static func chargeUnlimited(
        _ meter: Meter, for id: ReplyID, in conversation: ConversationKey, bytes: Int
    ) -> Query<Quota> {
        Query(
            chargeUnlimitedStatement, .text(conversation.text), .uuid(id), .text(meter.source.text),
            .text(meter.owner.keyPrefix),
            .int8(bytes), .int8(longestPrompt), .int8(standardAnswer))
    }

    private static let chargeUnlimitedStatement = Statement(
        "charge_unlimited", after: .rowScope, .text, .uuid, .text, .text, .int8, .int8, .int8,
        sql: """
            INSERT INTO chatterd_charges (reply, source, owner, day, prompt_tokens, answer_tokens)
            SELECT $2, $3, $4, (clock_timestamp() AT TIME ZONE 'UTC')::date,
                least(greatest($5, chatterd_prompt_size(c.total, c.seq)) / 4 + 1, $6),
                coalesce(nullif(substring(
                    c.options FROM '"(?:num_predict|max_completion_tokens|max_tokens)"\\s*:\\s*([0-9]{1,9})(?:[^0-9]|$)')::bigint, 0), $7)
            FROM chatts c WHERE c.appid = $1 AND c.id = $2 AND c.turn = c.seq AND c.state = 'streaming'
            RETURNING true
            """
    ) { _ in
        Quota()
    }

    /// Counts a request that a process passes on. `answer` is the number of tokens that the request permits.
    static func charge(
        _ meter: Meter, forPassed id: ReplyID, by process: ReplyID, bytes: Int, answer: Int?
    ) -> Query<Quota> {
        charge(meter, for: id, .null, holder: .uuid(process), bytes: bytes, answer: answer)
    }

    private static func charge(
        _ meter: Meter, for id: ReplyID, _ conversation: Parameter, holder: Parameter, bytes: Int, answer: Int?
    ) -> Query<Quota> {
        Query(
            chargeStatement,
            parameters: [
                conversation, .uuid(id), holder, .text(meter.source.text), .text(meter.owner.keyPrefix), .int8(bytes),
                .int8(longestPrompt), .int8(answer ?? standardAnswer),
            ] + limits(meter.sourceLimits) + limits(meter.ownerLimits))
    }

    private static func limits(_ allowance: Allowance) -> [Parameter] {
        [allowance.requestsPerMinute, allowance.tokensPerDay, allowance.concurrentReplies].map { limit in
            limit.map { .int8($0) } ?? .null
        }
    }

    private static let chargeStatement = Statement(
        "charge", .text, .uuid, .uuid, .text, .text, .int8, .int8, .int8, .int8, .int8, .int8, .int8, .int8, .int8,
        returnsBinary: true,
        sql: "SELECT * FROM chatterd_charge($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"
    ) { row in
        Quota(requests: Self.level(&row), tokens: Self.level(&row))
    }

    private static func level(_ row: inout Row) -> Quota.Level? {
        let (maximum, remaining, reset) = (row.nextOptionalInt(), row.nextInt(), row.nextInt())
        return maximum.map { Quota.Level(maximum: $0, remaining: remaining, reset: reset) }
    }

    /// Settles the charge of a passed-on request. `nil` counts keep what was reserved.
    static func settle(_ id: ReplyID, promptTokens: Int?, answerTokens: Int?) -> Query<Void> {
        Query(
            settleStatement, .uuid(id), promptTokens.map { .int8($0) } ?? .null,
            answerTokens.map { .int8($0) } ?? .null)
    }

    private static let settleStatement = Statement(
        "settle_charge", .uuid, .int8, .int8,
        sql: """
            UPDATE chatterd_charges SET
                settled_at = now(), prompt_tokens = coalesce($2, prompt_tokens), answer_tokens = coalesce($3, answer_tokens)
            WHERE reply = $1 AND settled_at IS NULL
            """)

    /// Counts a passed-on request of a principal without limits after its end.
    static func record(_ meter: Meter, _ id: ReplyID, promptTokens: Int, answerTokens: Int) -> Query<Void> {
        Query(
            recordStatement, .uuid(id), .text(meter.source.text), .text(meter.owner.keyPrefix), .int8(promptTokens),
            .int8(answerTokens))
    }

    private static let recordStatement = Statement(
        "record_charge", .uuid, .text, .text, .int8, .int8,
        sql: """
            INSERT INTO chatterd_charges (reply, source, owner, day, prompt_tokens, answer_tokens, settled_at)
            VALUES ($1, $2, $3, (now() AT TIME ZONE 'UTC')::date, $4, $5, now())
            """)

    /// Removes the charge of a turn that was withdrawn: its client was told that the prompt is not stored.
    static func removeWithdrawn(_ id: ReplyID) -> Query<Void> { Query(removeWithdrawnStatement, .uuid(id)) }

    private static let removeWithdrawnStatement = Statement(
        "remove_withdrawn_charge", after: .rowScope, .uuid, sql: "SELECT FROM chatterd_remove_withdrawn($1)")

    // MARK: - Housekeeping

    /// Settles open charges that no trigger settles: of requests that dead processes passed on, and of replies that are not running.
    static let settleLost = Query(
        Statement(
            "settle_lost_charges",
            sql: """
                UPDATE chatterd_charges g SET settled_at = now()
                WHERE g.settled_at IS NULL AND CASE WHEN g.holder IS NOT NULL THEN \(LeaseStatements.isDead("g.holder"))
                    ELSE NOT EXISTS (
                        SELECT FROM chatts c WHERE c.id = g.reply AND c.turn = c.seq AND c.state = 'streaming') END
                """))

    /// Moves settled charges to the usage, at most `limit`, and returns their number. It skips those that another process moves.
    static func fold(limit: Int) -> Query<Int> { Query(foldStatement, .int8(limit)) }

    // The order of the rows makes two transactions lock them in one order.
    private static let foldStatement = Statement(
        "fold_charges", .int8,
        sql: """
            WITH gone AS (
                DELETE FROM chatterd_charges WHERE reply IN (
                    SELECT reply FROM chatterd_charges WHERE settled_at IS NOT NULL LIMIT $1 FOR UPDATE SKIP LOCKED)
                RETURNING source, owner, day, prompt_tokens, answer_tokens
            ), added AS (
                INSERT INTO chatterd_usage AS u (source, owner, day, requests, prompt_tokens, answer_tokens)
                SELECT g.source, o.owner, g.day, count(*), sum(g.prompt_tokens), sum(g.answer_tokens)
                FROM gone g CROSS JOIN LATERAL (VALUES (g.owner), ('')) AS o (owner)
                GROUP BY g.source, o.owner, g.day ORDER BY g.source, o.owner, g.day
                ON CONFLICT (source, day, owner) DO UPDATE SET
                    requests = u.requests + excluded.requests, prompt_tokens = u.prompt_tokens + excluded.prompt_tokens,
                    answer_tokens = u.answer_tokens + excluded.answer_tokens
            )
            SELECT count(*) FROM gone
            """
    ) { row in
        row.nextInt()
    }

    /// Removes the usage of days that are not kept.
    static let expire = Query(
        Statement(
            "expire_usage",
            sql: "DELETE FROM chatterd_usage WHERE day <= (now() AT TIME ZONE 'UTC')::date - \(keptDays)"))

    /// Removes meters that are full again. It waits for no meter: a request locks several, in another order.
    static let expireMeters = Query(
        Statement(
            "expire_meters",
            sql: """
                DELETE FROM chatterd_meters WHERE subject IN (
                    SELECT subject FROM chatterd_meters WHERE full_at < now() - interval '1 h' FOR UPDATE SKIP LOCKED)
                """))

    // MARK: - Reports

    /// The use of a subject on the last days, the newest first: today, and earlier days with use.
    static func days(of subject: UsageSubject, days: Int) -> Query<UsageRecord> {
        Query(daysStatement, parameters: parameters(of: subject) + [.int8(days)])
    }

    private static let daysStatement = Statement(
        "usage_days", .textArray, .text, .text, .int8, returnsBinary: true,
        sql: """
            WITH \(used(totals: true))
            SELECT day::text, \(sums) FROM used GROUP BY used.day ORDER BY used.day DESC
            """,
        decode: decode)

    /// The use of each owner of a subject on the last days, by the order of the bytes of their names, after one of them.
    static func people(of subject: UsageSubject, days: Int, after: String, limit: Int) -> Query<UsageRecord> {
        Query(peopleStatement, parameters: parameters(of: subject) + [.int8(days), .text(after), .int8(limit)])
    }

    private static let peopleStatement = Statement(
        "usage_people", .textArray, .text, .text, .int8, .text, .int8, returnsBinary: true,
        sql: """
            WITH \(used(totals: false))
            SELECT owner, \(sums) FROM used WHERE owner COLLATE "C" > $5
            GROUP BY owner ORDER BY owner COLLATE "C" LIMIT $6
            """,
        decode: decode)

    private static func parameters(of subject: UsageSubject) -> [Parameter] {
        switch subject {
        case .source(let source): [.textArray([source.text]), .null, .null]
        case .app(let app): [.textArray([UsageSource.issuers(of: app).text]), .text(app), .null]
        case .owner(let owner): [.textArray([]), .null, .text(owner.keyPrefix)]
        }
    }

    private static let decode: @Sendable (inout Row) -> UsageRecord = { row in
        UsageRecord(
            name: row.nextText(), requests: row.nextInt(), promptTokens: row.nextInt(), answerTokens: row.nextInt(),
            running: row.nextInt(), reservedTokens: row.nextInt())
    }

    /// The usage and the charges of the sources $1, the keys of the app $2 and the owner $3, on the last $4 days.
    private static func used(totals: Bool) -> String {
        let isMeant = "source IN (SELECT source FROM sources) AND owner \(totals ? "=" : "<>") '' OR owner = $3"
        return """
            sources AS MATERIALIZED (
                SELECT unnest($1) AS source UNION SELECT 'key ' || k.id FROM chatterd_app_keys k WHERE k.app = $2
            ), used AS (
                SELECT day, owner, requests, prompt_tokens, answer_tokens, 0 AS running, 0 AS reserved
                FROM chatterd_usage WHERE day > (now() AT TIME ZONE 'UTC')::date - $4::integer AND (\(isMeant))
                UNION ALL
                SELECT day, owner, 1, CASE WHEN settled_at IS NULL THEN 0 ELSE prompt_tokens END,
                    CASE WHEN settled_at IS NULL THEN 0 ELSE answer_tokens END, (settled_at IS NULL)::integer,
                    CASE WHEN settled_at IS NULL THEN prompt_tokens + answer_tokens ELSE 0 END
                FROM chatterd_charges
                WHERE day > (now() AT TIME ZONE 'UTC')::date - $4::integer
                    AND (source IN (SELECT source FROM sources) OR owner = $3)
                UNION ALL
                SELECT (now() AT TIME ZONE 'UTC')::date, '', 0, 0, 0, 0, 0
            )
            """
    }

    private static let sums = """
        sum(requests)::bigint, sum(prompt_tokens)::bigint, sum(answer_tokens)::bigint, sum(running)::bigint,
            sum(reserved)::bigint
        """
}
