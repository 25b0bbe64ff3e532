import Bytes
import LanguageModels
import Postgres
import Relay

/// Takes the rows of a conversation in order, page by page, and keeps what is replayed to the model.
///
/// Replayed are rows outside of any turn, the turns whose reply is complete, and the prompts of the turn itself. A message that is
/// too long to come with its page is left empty, and listed in `missing`.
struct TurnHistoryEncoder {
    private let turn: Turn
    private let limit: Int
    private(set) var messages = EncodedMessages()
    private(set) var unfinished: [Int64] = []
    private(set) var isTooLarge = false
    private(set) var omitted: [ReplyReceipt.Omitted] = []
    /// The messages without their text: their numbers among the messages, and their places.
    private(set) var missing: [(index: Int, place: Int64)] = []
    /// Whether the reply of the turn itself was reached: nothing behind it counts.
    private(set) var isComplete = false
    private var hasRoom = false
    /// Where the prompts begin whose reply was not read.
    private var open: EncodedMessages.Mark?

    init(of turn: Turn, limit: Int) {
        self.turn = turn
        self.limit = limit
    }

    /// Makes room for a whole history, judged by a page of it. Short ones, of which there may be many in memory, take what they
    /// need.
    mutating func makeRoom(for page: QueryResult) {
        guard page.rowCount > 64, !hasRoom else { return }
        hasRoom = true
        let first = page.int(0, HistoryColumn.seq) ?? 0
        let rows = max(page.rowCount, min(Int(turn.number) - first, 400 * page.rowCount))
        // What libpq keeps of a row beside its text is a little more than its JSON has.
        let bytes = max(0, page.memorySize - 80 * page.rowCount) / page.rowCount * rows + 8_192
        messages.makeRoom(for: min(bytes, limit), count: rows)
    }

    /// - Returns: whether there may be more.
    mutating func take(_ row: Int, in rows: QueryResult) -> Bool {
        let place = Int64(rows.int(row, HistoryColumn.seq) ?? 0)
        let state = rows.bytes(row, HistoryColumn.state)
        if state.isEqual(to: "prompt") {
            open = open ?? messages.end
        } else if !state.isEmpty {
            guard place < turn.number else {
                isComplete = true
                return false
            }
            guard !state.isEqual(to: "choice") else { return true }
            // A reply whose prompts are gone was on its way when the conversation was replaced.
            guard let start = open.take() else { return true }
            guard state.isEqual(to: "complete") else {
                leaveOut(from: start, to: place)
                if state.isEqual(to: "streaming") {
                    unfinished.append(place)
                }
                return true
            }
            messages.assign(turn: place, since: start)
        }
        guard messages.json.count <= limit else {
            isTooLarge = true
            return false
        }
        let extras = rows.bytes(row, HistoryColumn.extras)
        if rows.isNull(row, HistoryColumn.message) || extras.isEmpty && !rows.isNull(row, HistoryColumn.extras) {
            missing.append((messages.count, place))
        }
        messages.append(
            role: rows.bytes(row, HistoryColumn.name), content: rows.bytes(row, HistoryColumn.message),
            extras: extras, place: place, turn: state.isEmpty ? 0 : place)
        return true
    }

    /// Passes a row that is on another branch.
    mutating func leave(_ row: Int, in rows: QueryResult) {
        guard !rows.bytes(row, HistoryColumn.state).isEqual(to: "choice") else { return }
        omitted.append(place: Int64(rows.int(row, HistoryColumn.seq) ?? 0), why: .branch)
    }

    /// What is left are the prompts of the turn itself.
    mutating func finish() {
        if let open = open.take() {
            messages.assign(turn: turn.number, since: open)
        }
        if !hasRoom {
            messages.trim()
        }
    }

    /// Cuts the prompts of a turn out again whose reply is not complete.
    private mutating func leaveOut(from start: EncodedMessages.Mark, to reply: Int64) {
        for prompt in messages.entries(since: start) {
            omitted.append(place: prompt.place, why: .notComplete)
        }
        omitted.append(place: reply, why: .notComplete)
        messages.truncate(to: start)
        while let last = missing.last, last.index >= messages.count {
            missing.removeLast()
        }
    }
}

/// The columns of `HistoryStatements.page`.
enum HistoryColumn {
    static let seq = 0
    static let name = 1
    /// NULL when it is too long for a page.
    static let message = 2
    /// Empty when they are too long for a page.
    static let extras = 3
    static let state = 4
    static let after = 5
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
