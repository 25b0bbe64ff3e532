import ChatterdBasics
import ChatterdLanguageModels
import ChatterdPostgres
import ChatterdRelay

/// Encodes the rows of a conversation, page by page in order, as messages for the model.
///
/// The history has the rows outside of turns, the turns with complete replies, and the prompts of the turn itself. A message that
/// its page omits stays empty, and `missing` lists it.
struct TurnHistoryEncoder {
    private let turn: Turn
    private let limit: Int
    private(set) var messages = EncodedMessages()
    private(set) var unfinished: [Int64] = []
    private(set) var isTooLarge = false
    private(set) var omitted: [PromptReport.Omitted] = []
    /// The messages without text: their indexes among the messages, and their rows.
    private(set) var missing: [(index: Int, seq: Int64)] = []
    /// Whether the encoder has reached the reply of the turn. Without it, the conversation was replaced.
    private(set) var isComplete = false
    private var hasCapacity = false
    /// The start of the prompts whose reply has not come yet.
    private var open: EncodedMessages.Mark?

    init(of turn: Turn, limit: Int) {
        self.turn = turn
        self.limit = limit
    }

    /// Reserves capacity for the whole history, estimated from a page. A short history grows as needed, because many of them may be
    /// in memory.
    mutating func reserveCapacity(for page: Rows<HistoryRow>) {
        guard page.count > 64, !hasCapacity, let first = page.first else { return }
        hasCapacity = true
        let rows = max(page.count, min(Int(turn.number - first.seq), 400 * page.count))
        // libpq's overhead per row is slightly larger than the overhead of its JSON.
        let bytes = max(0, page.memorySize - 80 * page.count) / page.count * rows + 8_192
        messages.makeRoom(for: min(bytes, limit), count: rows)
    }

    /// Adds the next row.
    ///
    /// - Returns: `false` if no further row counts.
    mutating func append(_ row: HistoryRow) -> Bool {
        // A later row than the reply comes from a conversation that has replaced this one.
        guard row.seq <= turn.number else { return false }
        switch row.kind {
        case .seeded: break
        case .prompt: open = open ?? messages.end
        case .choice, .completeReply, .runningReply, .otherReply:
            guard row.seq != turn.number else {
                isComplete = true
                return false
            }
            guard completeTurn(with: row) else { return true }
        }
        guard messages.json.count <= limit else {
            isTooLarge = true
            return false
        }
        if row.isIncomplete {
            missing.append((messages.count, row.seq))
        }
        messages.append(
            role: row.role.bytes, content: row.message.bytes, extras: row.extras.bytes, seq: row.seq,
            turn: row.kind == .seeded ? 0 : row.seq)
        return true
    }

    /// Assigns the open prompts to a complete reply, and leaves them out for any other reply.
    ///
    /// - Returns: whether the row is a complete reply with prompts.
    private mutating func completeTurn(with row: HistoryRow) -> Bool {
        // A reply without prompts was running when the conversation was replaced.
        guard row.kind != .choice, let start = open.take() else { return false }
        guard row.kind == .completeReply else {
            leaveOut(from: start, to: row.seq)
            if row.kind == .runningReply {
                unfinished.append(row.seq)
            }
            return false
        }
        messages.assign(turn: row.seq, since: start)
        return true
    }

    /// Skips a row of another branch.
    mutating func skip(_ row: HistoryRow) {
        guard row.kind != .choice else { return }
        omitted.append(number: row.seq, why: .branch)
    }

    /// Assigns the remaining prompts to the turn itself.
    mutating func finish() {
        if let open = open.take() {
            messages.assign(turn: turn.number, since: open)
        }
        if !hasCapacity {
            messages.trim()
        }
    }

    /// Removes the prompts of a turn whose reply is not complete.
    private mutating func leaveOut(from start: EncodedMessages.Mark, to reply: Int64) {
        for prompt in messages.entries(since: start) {
            omitted.append(number: prompt.seq, why: .notComplete)
        }
        omitted.append(number: reply, why: .notComplete)
        messages.truncate(to: start)
        while let last = missing.last, last.index >= messages.count {
            missing.removeLast()
        }
    }
}
