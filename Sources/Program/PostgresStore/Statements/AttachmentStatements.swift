import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The SQL of attachments: the images that messages refer to. The functions of the migration say how they are stored and removed.
enum AttachmentStatements {
    /// The SQLSTATE with which `chatterd_attach` refuses attachments. The message of the error is the limit.
    static let refusal = "CH413"

    /// Stores the attachments of messages that an earlier statement of the transaction has added to a conversation; none if it has added no
    /// message. It fails with `refusal` if the app exceeds its limit, so that the transaction has no effect.
    ///
    /// - Parameters:
    ///   - limit: the size limit of all attachments of an app, in bytes; 0 for none.
    ///   - replacing: whether the conversation has no other messages.
    static func attach(
        _ attachments: Attachments, to conversation: ConversationKey, limit: Int, replacing: Bool = false
    ) -> Query<Void> {
        Query(
            attachStatement, .text(conversation.text), .array(of: .text, [attachments.digests]),
            .array(of: .text, [attachments.contents]), .boolean(replacing), .int8(limit))
    }

    private static let attachStatement = Statement(
        "attach", after: .rowScope, .text, .textArray, .textArray, .boolean, .int8,
        sql: "SELECT FROM chatterd_attach($1, $2, $3, $4, $5)")

    /// The limit of the rows of a conversation that `release` reads.
    static let releasedRows = 10_000

    /// Removes the references of a conversation to attachments that none of its messages has any more. An earlier statement of the transaction
    /// has removed or changed messages; it has no effect if there were none, and in a conversation with more than `releasedRows` rows.
    static func release(in conversation: ConversationKey) -> Query<Void> {
        Query(releaseStatement, .text(conversation.text), .int8(releasedRows))
    }

    private static let releaseStatement = Statement(
        "release_attachments", after: .rowScope, .text, .int8, sql: "SELECT FROM chatterd_release($1, $2)")

    /// Keeps the attachments of a conversation until the end of the transaction, which copies its messages.
    static func hold(of conversation: ConversationKey) -> Query<Void> { Query(holdStatement, .text(conversation.text)) }

    private static let holdStatement = Statement(
        "hold_attachments", after: .rowScope, .text, sql: "SELECT FROM chatterd_hold_attachments($1)")

    /// Has a conversation that an earlier statement has copied from another one refer to the attachments of its messages.
    static func share(from source: ConversationKey, with copy: ConversationKey) -> Query<Void> {
        Query(shareStatement, .text(source.text), .text(copy.text))
    }

    private static let shareStatement = Statement(
        "share_attachments", after: .rowScope, .text, .text, sql: "SELECT FROM chatterd_share_attachments($1, $2)")

    // MARK: - Pieces

    /// The further members of a row as they came, with the attachments. Most rows have no references, and cost one comparison.
    ///
    /// - Parameter key: the key of the conversation, as SQL.
    static func members(_ extras: String, of key: String) -> String {
        "CASE WHEN \(hasReferences(extras)) THEN chatterd_members(\(key), \(extras)) ELSE \(extras) END"
    }

    /// The size of the further members of a row, with the attachments, in bytes; 0 without members.
    static func size(_ extras: String) -> String {
        """
        CASE WHEN \(hasReferences(extras)) THEN split_part(substr(\(extras), 2, 20), E'\\x01', 1)::bigint
            ELSE coalesce(octet_length(\(extras)), 0) END
        """
    }

    /// PostgreSQL reads the beginning of a TOASTed text only.
    private static func hasReferences(_ extras: String) -> String { "left(\(extras), 1) = E'\\x01'" }
}

extension RelayError {
    /// Creates the error with which the store refuses attachments.
    ///
    /// - Parameter limit: the message of the store.
    init(attachmentsBeyond limit: String) {
        self.init(
            .attachmentsFull,
            "The images of this app's conversations have reached their limit (CHATTERD_ATTACHMENTS_LIMIT, \(limit) bytes). Delete "
                + "conversations with images, or send the message without its images.")
    }
}
