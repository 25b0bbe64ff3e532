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
}
