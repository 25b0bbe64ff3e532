import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The SQL that reads the request of a reply: its prompts, and its members for the model server.
enum RequestStatements {
    /// The limit of the prompts of a reply, which are the rows before it.
    static let mostPrompts = ChatRequest.maximumMessages

    /// The members of the request of a reply, as JSON text without braces.
    static func options(of turn: Turn, id: ReplyID) -> Query<[UInt8]> {
        Query(optionsStatement, .text(turn.conversation.text), .int8(turn.number), .uuid(id))
    }

    private static let optionsStatement = Statement(
        "reply_options", after: .rowScope, .text, .int8, .uuid, returnsBinary: true,
        sql: "SELECT options FROM chatts WHERE appid = $1 AND seq = $2 AND id = $3"
    ) { row in
        row.nextBytes()
    }

    /// The prompts of a reply, in order. Another answer to the same prompts has those of the first one.
    static func prompts(of turn: Turn, id: ReplyID) -> Query<ConversationRowStatements.Entry> {
        Query(promptsStatement, .text(turn.conversation.text), .int8(turn.number), .uuid(id))
    }

    // The numbers of rows are computed before they are compared: see `TransactionPreamble.rowScope`.
    private static let promptsStatement = Statement(
        "reply_prompts", after: .rowScope, .text, .int8, .uuid, returnsBinary: true,
        sql: """
            WITH reply AS MATERIALIZED (
                SELECT coalesce(after, seq - 1) AS last FROM chatts WHERE appid = $1 AND seq = $2 AND id = $3
            ), prompt AS MATERIALIZED (
                SELECT p.seq, p.turn, p.turn - \(mostPrompts) AS first
                FROM reply r JOIN chatts p ON p.appid = $1 AND p.seq = r.last AND p.state = 'prompt'
            )
            SELECT c.seq, octet_length(c.message) + coalesce(octet_length(c.thinking), 0) + \(AttachmentStatements.size("c.extras"))
            FROM prompt p
            JOIN chatts c ON c.appid = $1 AND c.seq BETWEEN p.first AND p.seq AND c.turn = p.turn AND c.state = 'prompt'
            ORDER BY c.seq
            """, decode: ConversationRowStatements.entry)

    /// The time after the end of a reply for which a repetition of its request gets it, in seconds.
    static let repetitionTime = 60

    /// The reply to the last request with a digest, while it runs and shortly after it is complete.
    static func repeated(_ digest: HistoryDigest) -> Query<ReplyID> {
        Query(repeatedStatement, .uuid(high: digest.high, low: digest.low))
    }

    private static let repeatedStatement = Statement(
        "repeated_request", after: .rowScope, .uuid, returnsBinary: true,
        sql: """
            SELECT r.id FROM (
                SELECT appid, turn FROM chatts WHERE history = $1 AND state = 'prompt' ORDER BY time DESC LIMIT 1) AS p
            JOIN chatts r ON r.appid = p.appid AND r.seq = p.turn
            WHERE r.state = 'streaming' OR r.state = 'complete' AND r.finished > now() - interval '\(repetitionTime) s'
            """
    ) { row in
        row.nextReplyID()
    }

    /// The conversation that knows the same request by its key; without one the reply that ends the first of some histories that is stored. If
    /// several conversations have that history, one that nothing follows comes first, then the newest one. Without any, whether the owner has a
    /// conversation with a name.
    static func find(
        _ histories: [HistoryDigest], of owner: Owner, key: IdempotencyKey?, name: String?
    ) -> Query<FoundHistory> {
        Query(
            findHistoryStatement, .uuidArray(histories.map { ($0.high, $0.low) }),
            key.map { .text($0.text) } ?? .null, key.map { .bytes($0.digest) } ?? .null, .text(owner.keyPrefix),
            name.map { .text(ConversationKey(owner, name: $0).text) } ?? .null)
    }

    /// The place of a conversation with the name, behind all histories.
    private static let nameIsTaken = Int(Int32.max)

    // One statement sees either the key of a request or the history that it followed.
    private static let findHistoryStatement = Statement(
        "find_history", after: .rowScope, .uuidArray, .text, .bytes, .text, .text,
        returnsBinary: true,
        sql: """
            (SELECT k.appid, NULL::uuid, 0::bigint AS place FROM chatterd_keys k
                WHERE k.key = $2 AND k.digest = $3 AND k.expires_at > now() AND starts_with(k.appid || E'\\x1F\\x1F', $4)
                ORDER BY k.appid LIMIT 1)
            UNION ALL
            (SELECT f.appid, f.id, d.place FROM unnest($1) WITH ORDINALITY AS d (history, place)
                CROSS JOIN LATERAL (
                    SELECT r.appid, r.id FROM (
                        SELECT c.appid, c.seq, c.id, c.time FROM chatts c
                        WHERE c.history = d.history AND \(ConversationStatements.isReplayed("c."))
                        ORDER BY c.time DESC LIMIT 16) AS r
                    ORDER BY EXISTS (SELECT FROM chatts n WHERE n.appid = r.appid AND n.seq > r.seq), r.time DESC
                    LIMIT 1) AS f
                ORDER BY d.place LIMIT 1)
            UNION ALL
            (SELECT v.appid, NULL::uuid, \(nameIsTaken)::bigint FROM chatterd_conversations v WHERE v.appid = $5)
            ORDER BY place LIMIT 1
            """
    ) { row -> FoundHistory in
        let conversation = ConversationKey(parsing: row.nextText())
        let (reply, place) = (row.nextReplyID(), row.nextInt())
        return switch place {
        case 0: .known(conversation)
        case nameIsTaken: .named(conversation)
        default: .stored(conversation, reply, index: place - 1)
        }
    }
}

/// What is found of the history of a request.
public enum FoundHistory: Sendable, Equatable {
    /// The conversation that knows the request by its key.
    case known(ConversationKey)
    /// A reply that ends a history, with the index of the history among those that were looked for.
    case stored(ConversationKey, ReplyID, index: Int)
    /// A conversation that has the name already; no history is stored.
    case named(ConversationKey)
}
