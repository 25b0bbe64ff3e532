import ChatterdBasics
import ChatterdLanguageModels
import ChatterdPostgres
import ChatterdRelay

/// Takes the rows of a conversation in order, page by page, and keeps the messages for the model.
///
/// The history has the rows outside of turns, the turns with complete replies, and the prompts of the turn itself. A message that
/// its page omits stays empty, and `missing` lists it.
struct TurnHistoryEncoder {
    private let turn: Turn
    private let limit: Int
    private(set) var messages = EncodedMessages()
    private(set) var unfinished: [Int64] = []
    private(set) var isTooLarge = false
    private(set) var omitted: [ReplyReceipt.Omitted] = []
    /// The messages without text: their indexes among the messages, and their places.
    private(set) var missing: [(index: Int, place: Int64)] = []
    /// Whether the encoder has reached the reply of the turn. Without it, the conversation was replaced.
    private(set) var isComplete = false
    private var hasRoom = false
    /// The start of the prompts whose reply has not come yet.
    private var open: EncodedMessages.Mark?

    init(of turn: Turn, limit: Int) {
        self.turn = turn
        self.limit = limit
    }

    /// Reserves capacity for the whole history, estimated from a page. A short history grows as needed, because many of them may be
    /// in memory.
    mutating func makeRoom(for page: QueryResult) {
        guard page.rowCount > 64, !hasRoom else { return }
        hasRoom = true
        let first = page.int(0, HistoryColumn.seq) ?? 0
        let rows = max(page.rowCount, min(Int(turn.number) - first, 400 * page.rowCount))
        // libpq's overhead per row is slightly larger than the overhead of its JSON.
        let bytes = max(0, page.memorySize - 80 * page.rowCount) / page.rowCount * rows + 8_192
        messages.makeRoom(for: min(bytes, limit), count: rows)
    }

    /// - Returns: `false` if no further row counts.
    mutating func take(_ row: Int, in rows: QueryResult) -> Bool {
        let place = Int64(rows.int(row, HistoryColumn.seq) ?? 0)
        // A row behind the turn's place comes from a conversation that has replaced this one.
        guard place <= turn.number else { return false }
        let state = rows.bytes(row, HistoryColumn.state)
        if state.isEqual(to: "prompt") {
            open = open ?? messages.end
        } else if !state.isEmpty {
            guard place != turn.number else {
                isComplete = true
                return false
            }
            guard !state.isEqual(to: "choice") else { return true }
            // A reply without prompts was running when the conversation was replaced.
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

    /// Skips a row of another branch.
    mutating func leave(_ row: Int, in rows: QueryResult) {
        guard !rows.bytes(row, HistoryColumn.state).isEqual(to: "choice") else { return }
        omitted.append(place: Int64(rows.int(row, HistoryColumn.seq) ?? 0), why: .branch)
    }

    /// Assigns the remaining prompts to the turn itself.
    mutating func finish() {
        if let open = open.take() {
            messages.assign(turn: turn.number, since: open)
        }
        if !hasRoom {
            messages.trim()
        }
    }

    /// Removes the prompts of a turn whose reply is not complete.
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
