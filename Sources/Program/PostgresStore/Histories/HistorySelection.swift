import ChatterdChat
import ChatterdPostgres
import ChatterdRelay

/// Selects the rows of a conversation that are the history of a turn, page by page, newest row first. A value without I/O.
///
/// The history has the rows outside of turns, the turns whose replies are complete or ended early with a text, and the prompts of the turn
/// itself, on the branch that leads to the turn. A row follows the row above it, unless its link names another one.
struct HistorySelection {
    /// A selected row.
    struct Message {
        let row: HistoryRow
        /// The number of its turn; 0 outside of any turn.
        let turn: Int64
    }

    /// The reply to which the next prompts belong.
    private enum Reply {
        /// The reply of the turn itself.
        case own
        /// A reply of the history. It is selected already, and removed again if it has no prompts.
        case replayed(Int64)
        /// A reply that the history omits, with its number.
        case omitted(Int64, isRunning: Bool, hasPrompts: Bool)
        /// None of the rows so far.
        case unknown
    }

    /// The place of a selected row: the page, and the index among its messages.
    struct Place: Equatable {
        let page: Int
        let index: Int
    }

    private let turn: Int64
    private let limit: Int
    /// How far back the selection goes; `nil` for all rows.
    private var reach: HistoryReach?

    private var reply = Reply.own
    /// The place of the last selected reply while it has no prompts.
    private var unconfirmed: Place?
    private var page = 0
    /// The oldest selected message.
    private var oldest: (turn: Int64, role: MessageRole)?
    /// The bytes of the selected messages, and of their content alone.
    private var size = 0
    private var text = 0

    /// The largest number that the next row on the branch may have; 0 at its beginning.
    private(set) var bound: Int64
    /// Whether the reply of the turn was found. Without it, the conversation was replaced.
    private(set) var isComplete = false
    /// Whether the older rows are beyond the reach.
    private(set) var isBeyondReach = false
    /// Whether the selected messages exceed the limit.
    private(set) var isTooLarge = false
    /// The number of selected messages.
    private(set) var count = 0
    /// The number of the row above the turn's own prompts on its branch, and the number of messages behind that row.
    private(set) var junction: (seq: Int64, messages: Int)?
    /// The replies of earlier pages that have no prompts and therefore do not belong to the history.
    private(set) var removed: [Place] = []
    private var newestUnfinished: [Int64] = []
    private var newestOmitted: [PromptReport.Omitted] = []

    /// Creates the selection of the history of a turn.
    ///
    /// - Parameters:
    ///   - limit: the maximum size of the messages in bytes.
    init(of turn: Int64, limit: Int, reach: HistoryReach?) {
        self.turn = turn
        self.limit = limit
        self.reach = reach
        bound = turn
    }

    /// Creates the selection of the rows up to a row of the branch, whose turn is unknown.
    init(upTo seq: Int64) {
        self.init(of: seq, limit: .max, reach: nil)
        isComplete = true
        reply = .unknown
    }

    /// The earlier turns that are still running, oldest first.
    var unfinished: [Int64] { newestUnfinished.reversed() }

    /// The omitted messages, in order.
    var omitted: [PromptReport.Omitted] {
        var omitted: [PromptReport.Omitted] = []
        for range in newestOmitted.reversed() {
            omitted.append(range)
        }
        return omitted
    }

    /// Whether no older row can belong to the history.
    var isFinished: Bool { bound <= 0 || isBeyondReach || isTooLarge }

    // MARK: - Selecting

    /// Selects rows of the next page.
    ///
    /// - Parameters:
    ///   - rows: the rows below the page before, newest first.
    ///   - sizes: the sizes of the rows whose texts the page omits.
    /// - Returns: the selected rows, newest first.
    mutating func select(
        _ rows: some Sequence<HistoryRow>, sizes: [Int64: HistoryStatements.Size] = [:]
    ) -> [Message] {
        var messages: [Message] = []
        for row in rows where row.seq <= bound {
            guard isComplete || row.seq == turn else { break }
            if !takes(row, sizes[row.seq], &messages) { break }
            follow(row)
            if isFinished { break }
        }
        page += 1
        return messages
    }

    /// Continues behind the reach, up to the beginning of the branch.
    mutating func continueWithoutReach() {
        reach = nil
        isBeyondReach = false
    }

    /// Ends the selection: no older row belongs to it.
    mutating func finish() {
        var none: [Message] = []
        dropUnconfirmed(&none)
    }

    /// Handles a row of the branch. Returns `false` if the row is beyond the reach.
    private mutating func takes(
        _ row: HistoryRow, _ size: HistoryStatements.Size?, _ messages: inout [Message]
    ) -> Bool {
        guard isComplete else {
            // The row of the turn's own reply, which has no message yet. `HistoryReader` looks for the reply by its id.
            isComplete = true
            return true
        }
        switch row.kind {
        case .prompt:
            take(prompt: row, size, &messages)
            return true
        case .choice:
            noteJunction(row)
            return true
        case .seeded:
            return take(row, turn: 0, size, &messages)
        case .replayedReply:
            dropUnconfirmed(&messages)
            guard take(row, turn: row.seq, size, &messages) else { return false }
            reply = .replayed(row.seq)
            unconfirmed = Place(page: page, index: messages.count - 1)
            return true
        case .runningReply, .omittedReply:
            dropUnconfirmed(&messages)
            noteJunction(row)
            reply = .omitted(row.seq, isRunning: row.kind == .runningReply, hasPrompts: false)
            return true
        }
    }

    private mutating func take(prompt row: HistoryRow, _ size: HistoryStatements.Size?, _ messages: inout [Message]) {
        switch reply {
        case .own:
            junction = nil
            select(row, turn: turn, size, &messages)
        case .replayed(let number):
            unconfirmed = nil
            select(row, turn: number, size, &messages)
        case .omitted(let number, let isRunning, let hasPrompts):
            if !hasPrompts {
                omit(number, .notComplete)
                if isRunning { newestUnfinished.append(number) }
                reply = .omitted(number, isRunning: isRunning, hasPrompts: true)
            }
            omit(row.seq, .notComplete)
        case .unknown:
            break
        }
    }

    /// Selects a row that is no prompt, unless it is beyond the reach.
    private mutating func take(
        _ row: HistoryRow, turn: Int64, _ size: HistoryStatements.Size?, _ messages: inout [Message]
    ) -> Bool {
        if let reach, let oldest, reach.isExceeded(by: count, text: text),
            EncodedMessage.startsTurn(oldest.turn, oldest.role, after: turn, row.role)
        {
            isBeyondReach = true
            return false
        }
        noteJunction(row)
        select(row, turn: turn, size, &messages)
        return true
    }

    private mutating func select(
        _ row: HistoryRow, turn: Int64, _ size: HistoryStatements.Size?, _ messages: inout [Message]
    ) {
        let content = size?.message ?? row.messageSize
        self.size += content + (size?.extras ?? row.extrasSize)
        text += content
        count += 1
        oldest = (turn, row.role)
        messages.append(Message(row: row, turn: turn))
        if self.size > limit { isTooLarge = true }
    }

    /// Removes the last selected reply if none of the rows so far is its prompt: its prompts were removed.
    private mutating func dropUnconfirmed(_ messages: inout [Message]) {
        guard let place = unconfirmed.take() else { return }
        count -= 1
        if place.page == page {
            messages.remove(at: place.index)
        } else {
            removed.append(place)
        }
    }

    private mutating func noteJunction(_ row: HistoryRow) {
        guard case .own = reply, junction == nil else { return }
        junction = (row.seq, count)
    }

    /// Continues with the row that a row follows.
    private mutating func follow(_ row: HistoryRow) {
        guard let parent = row.parent else {
            bound = row.seq - 1
            return
        }
        bound = parent
        guard parent < row.seq - 1 else { return }
        newestOmitted.append(PromptReport.Omitted(numbers: parent + 1...row.seq - 1, why: .branch))
    }

    private mutating func omit(_ seq: Int64, _ why: PromptReport.Omission) {
        newestOmitted.append(PromptReport.Omitted(numbers: seq...seq, why: why))
    }
}
