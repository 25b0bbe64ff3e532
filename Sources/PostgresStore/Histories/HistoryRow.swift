import ChatterdBasics
import ChatterdPostgres

/// A row of a conversation, as `HistoryStatements.page` returns it. Its texts are read in place.
struct HistoryRow {
    /// The meaning of a row, from its column `state`.
    enum Kind {
        /// A message outside of turns.
        case seeded
        case prompt
        /// The choice of the reply that the next turn follows. It has no message.
        case choice
        case completeReply
        case runningReply
        /// A closed reply that is not complete.
        case otherReply

        /// Whether the row is a reply.
        var isReply: Bool {
            switch self {
            case .completeReply, .runningReply, .otherReply: true
            case .seeded, .prompt, .choice: false
            }
        }

        init(state: Field) {
            let state = state.bytes
            if state.isEmpty {
                self = .seeded
            } else if state.isEqual(to: "prompt") {
                self = .prompt
            } else if state.isEqual(to: "complete") {
                self = .completeReply
            } else if state.isEqual(to: "streaming") {
                self = .runningReply
            } else if state.isEqual(to: "choice") {
                self = .choice
            } else {
                self = .otherReply
            }
        }
    }

    let seq: Int64
    let role: Field
    /// NULL if the message is too long for a page.
    let message: Field
    /// Empty, but not NULL, if the extras are too long for a page.
    let extras: Field
    let kind: Kind
    /// The `seq` of the row that this one follows; `nil` for the row above.
    let parent: Int64?

    /// Whether the page omits a text of the row.
    var isIncomplete: Bool { message.isNull || extras.bytes.isEmpty && !extras.isNull }
}
