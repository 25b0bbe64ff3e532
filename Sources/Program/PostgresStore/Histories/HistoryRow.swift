import ChatterdBasics
import ChatterdChat
import ChatterdPostgres

/// A row of a conversation, as `HistoryStatements.page` returns it. The page keeps its texts.
struct HistoryRow {
    /// The meaning of a row, from its column `state`.
    enum Kind {
        /// A message outside of turns.
        case seeded
        case prompt
        /// The choice of the reply that the next turn follows. It has no message.
        case choice
        /// A reply that histories have, as `ConversationStatements.isReplayed` says.
        case replayedReply
        case runningReply
        /// A closed reply without an answer that can be replayed.
        case omittedReply

        /// - Parameter state: the state as the statements return it, `complete` for each reply that histories have.
        init(state: Span<UInt8>) {
            if state.isEmpty {
                self = .seeded
            } else if state.isEqual(to: "prompt") {
                self = .prompt
            } else if state.isEqual(to: "complete") {
                self = .replayedReply
            } else if state.isEqual(to: "streaming") {
                self = .runningReply
            } else if state.isEqual(to: "choice") {
                self = .choice
            } else {
                self = .omittedReply
            }
        }
    }

    /// The columns of the statements.
    private enum Column {
        static let seq = 0
        static let state = 1
        static let after = 2
        static let name = 3
        static let message = 4
        static let extras = 5
    }

    let seq: Int64
    let kind: Kind
    let role: MessageRole
    /// Whether the page omits a text of the row, or an attachment.
    let isIncomplete: Bool
    /// The `seq` of the row that this one follows; `nil` for the row above.
    let parent: Int64?
    /// The sizes of its message and of its further members, in bytes, as the page has them.
    let messageSize: Int
    let extrasSize: Int
    /// The index of the row in its page.
    private let index: Int

    /// Reads a row of the statements of `HistoryStatements`. A message that is too long for a page is NULL; extras that are too long are
    /// empty, but not NULL. Extras with references lack their attachments.
    init(_ fields: Fields) {
        index = fields.index
        seq = Int64(fields.int(Column.seq) ?? 0)
        kind = Kind(state: fields.bytes(Column.state))
        role = MessageRole(fields.bytes(Column.name))
        parent = fields.int(Column.after).map { Int64($0) }
        messageSize = fields.byteCount(Column.message)
        extrasSize = fields.byteCount(Column.extras)
        isIncomplete =
            messageSize == 0 && fields.isNull(Column.message)
            || !fields.isNull(Column.extras) && Self.isIncomplete(fields.bytes(Column.extras))
    }

    private static func isIncomplete(_ extras: Span<UInt8>) -> Bool {
        extras.isEmpty || extras[0] == Attachments.mark
    }

    /// Appends the message to a conversation, with the texts that its page has.
    func append(to messages: inout EncodedConversation, from page: Rows<HistoryRow>, turn: Int64) {
        let fields = page.fields(at: index)
        messages.append(
            role: fields.bytes(Column.name), content: fields.bytes(Column.message),
            extras: fields.bytes(Column.extras), seq: seq, turn: turn)
    }
}
