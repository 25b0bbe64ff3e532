import ChatterdBasics
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// Replies whose owner is looked up, as one array for each column.
struct OwnedColumns {
    private(set) var conversations = ParameterArray()
    private(set) var numbers = ParameterArray()
    private(set) var replies = ParameterArray()
    private(set) var attempts = ParameterArray()

    var isEmpty: Bool { conversations.isEmpty }

    mutating func append(_ turn: Turn, _ id: ReplyID, attempt: Int) {
        conversations.append(turn.conversation.text)
        numbers.append(turn.number)
        replies.append(high: id.high, low: id.low)
        attempts.append(Int64(attempt))
    }

    mutating func removeAll() {
        conversations.removeAll()
        numbers.removeAll()
        replies.removeAll()
        attempts.removeAll()
    }
}
