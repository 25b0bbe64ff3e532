import Bytes
import LanguageModels
import Postgres
import Relay

extension TurnHistory {
    /// Reads the rows of `ConversationStatements.history`, and encodes what is replayed to the model.
    ///
    /// Replayed are rows outside of any turn, the turns whose reply is complete, and the prompts of `turn` itself; of a
    /// conversation with branches, those that lead to `turn`.
    init(rows: QueryResult, turn: Turn, limit: Int) {
        let count = rows.rowCount
        var encoder = TurnHistoryEncoder(limit: limit, rows: rows)
        let isBranch = { (row: Int) in !rows.isNull(row, TurnHistoryColumn.after) }
        var row = 0
        while row < count, !isBranch(row), encoder.take(row, in: rows, of: turn) {
            row += 1
        }
        // What is too long in order may be short enough on the way to the turn.
        let rest = row..<(encoder.isTooLarge ? count : min(row + 1, count))
        if rest.contains(where: isBranch) {
            encoder = TurnHistoryEncoder(limit: limit, rows: rows)
            var next = 0
            for row in Self.path(to: turn, in: rows) {
                encoder.leave(next..<row, in: rows)
                next = row + 1
                guard encoder.take(row, in: rows, of: turn) else { break }
            }
        }
        encoder.finish(turn)
        self.init(
            messages: encoder.messages, unfinished: encoder.unfinished, isTooLarge: encoder.isTooLarge,
            omitted: encoder.omitted)
    }

    /// The rows that lead to the reply of a turn, in order, itself included: each follows the one before it, unless it says
    /// which.
    private static func path(to turn: Turn, in rows: QueryResult) -> [Int] {
        var path: [Int] = []
        var next = row(of: turn.number, in: rows, before: rows.rowCount)
        while let row = next {
            path.append(row)
            if let after = rows.int(row, TurnHistoryColumn.after) {
                next = self.row(of: Int64(after), in: rows, before: row)
            } else {
                next = row > 0 ? row - 1 : nil
            }
        }
        return path.reversed()
    }

    /// The row in a place of the conversation, among those before a row: a link never leads forward.
    private static func row(of place: Int64, in rows: QueryResult, before end: Int) -> Int? {
        var low = 0
        var high = end
        while low < high {
            let middle = (low + high) / 2
            guard let found = rows.int(middle, TurnHistoryColumn.seq) else { return nil }
            if found == place { return middle }
            if found < place {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return nil
    }
}

/// Takes the rows of a conversation in order, and keeps what is replayed.
private struct TurnHistoryEncoder {
    let limit: Int
    private let isLong: Bool
    private(set) var messages: EncodedMessages
    private(set) var unfinished: [Int64] = []
    private(set) var isTooLarge = false
    private(set) var omitted: [ReplyReceipt.Omitted] = []
    /// Where the prompts begin whose reply was not read.
    private var open: EncodedMessages.Mark?

    init(limit: Int, rows: QueryResult) {
        self.limit = limit
        // Of a long history all room is made at once: what libpq keeps of a row beside its text is a little more than its
        // JSON has. Short ones, of which there may be many in memory, take what they need.
        isLong = rows.rowCount > 64
        messages = EncodedMessages(
            capacity: isLong ? max(0, rows.memorySize - 80 * rows.rowCount + 8_192) : 0, count: rows.rowCount)
    }

    /// - Returns: whether there may be more; there is none after the place of the turn's own reply.
    mutating func take(_ row: Int, in rows: QueryResult, of turn: Turn) -> Bool {
        let place = Int64(rows.int(row, TurnHistoryColumn.seq) ?? 0)
        let state = rows.bytes(row, TurnHistoryColumn.state)
        if state.isEqual(to: "prompt") {
            open = open ?? messages.end
        } else if !state.isEmpty {
            guard place < turn.number else { return false }
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
        messages.append(
            role: rows.bytes(row, TurnHistoryColumn.name), content: rows.bytes(row, TurnHistoryColumn.message),
            extras: rows.bytes(row, TurnHistoryColumn.extras), place: place, turn: state.isEmpty ? 0 : place)
        return true
    }

    /// Passes rows that are on other branches.
    mutating func leave(_ others: Range<Int>, in rows: QueryResult) {
        for row in others where !rows.bytes(row, TurnHistoryColumn.state).isEqual(to: "choice") {
            omitted.append(place: Int64(rows.int(row, TurnHistoryColumn.seq) ?? 0), why: .branch)
        }
    }

    /// What is left are the prompts of the turn itself.
    mutating func finish(_ turn: Turn) {
        if let open {
            messages.assign(turn: turn.number, since: open)
        }
        if !isLong {
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
    }
}

/// The columns of `ConversationStatements.history`.
private enum TurnHistoryColumn {
    static let seq = 0
    static let name = 1
    static let message = 2
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
