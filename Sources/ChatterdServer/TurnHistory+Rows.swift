import Bytes
import LanguageModels
import Postgres
import Relay

extension TurnHistory {
    /// Reads the rows of `ConversationStatements.history`, and encodes what is replayed to the model.
    ///
    /// Replayed are rows outside of any turn, the turns whose reply is complete, and the prompts of `turn` itself.
    init(rows: QueryResult, turn current: Turn, limit: Int) {
        var messages = EncodedMessages()
        var unfinished: [Int64] = []
        var isTooLarge = false
        /// The turn whose prompts were read, and whose reply was not.
        var open: (turn: Int64, start: EncodedMessages.Mark)?

        for row in 0..<rows.rowCount {
            let turn = rows.int(row, Column.turn).map { Int64($0) }
            if let turn, turn > current.number { break }
            if let open, turn != open.turn {
                unfinished.append(open.turn)
                messages.truncate(to: open.start)
            }
            // Replies have a state, prompts have none.
            let isReply = turn != nil && !rows.isNull(row, Column.state)
            if isReply {
                // A reply whose prompts are gone was on its way when the conversation was replaced.
                guard let answered = open, answered.turn == turn else {
                    open = nil
                    continue
                }
                open = nil
                guard rows.bytes(row, Column.state).isEqual(to: "complete") else {
                    messages.truncate(to: answered.start)
                    continue
                }
            } else if let turn {
                if open?.turn != turn {
                    open = turn == current.number ? nil : (turn, messages.end)
                }
            } else {
                open = nil
            }
            guard messages.json.count <= limit else {
                isTooLarge = true
                break
            }
            messages.append(
                role: rows.bytes(row, Column.name), content: rows.bytes(row, Column.message),
                extras: rows.bytes(row, Column.extras))
        }
        self.init(messages: messages, unfinished: unfinished, isTooLarge: isTooLarge)
    }

    /// Whether the prompts of a turn are among the rows.
    static func holds(_ turn: Turn, _ rows: QueryResult) -> Bool {
        (0..<rows.rowCount).reversed().contains { row in
            rows.int(row, Column.turn).map { Int64($0) } == turn.number && rows.isNull(row, Column.state)
        }
    }

    private enum Column {
        static let turn = 0
        static let name = 1
        static let message = 2
        static let extras = 3
        static let state = 4
    }
}

extension Span<UInt8> {
    fileprivate func isEqual(to text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        for index in 0..<count where self[index] != text.utf8Start[index] {
            return false
        }
        return true
    }
}
