import ChatterdBasics
import ChatterdLanguageModels
import ChatterdPostgres
import ChatterdRelay

/// Reads the history of a turn, page by page, and long messages separately. Memory for them is reserved first. Confined to its
/// shard.
struct HistoryReader {
    /// The number of rows of the first page. Most conversations have fewer.
    private static let firstPageRows = 256
    /// The target size of a later page in bytes, and the range of its number of rows.
    private static let pageBytes = 4 << 20
    private static let pageRows = 64...8_192
    /// Limit of the long messages that one query reads, in bytes.
    private static let groupBytes = 4 << 20
    /// The number of copies of a history: one here, one in the request to the model server, and one in the unsent output.
    private static let copies = TurnHistory.copiesOnTheWay

    private let pool: PostgresPool
    private let budget: MemoryBudget
    private let turn: Turn
    private let limit: Int
    private var encoder: TurnHistoryEncoder
    private var memory: MemoryReservation
    private var page: Rows<HistoryRow>
    /// The maximum number of rows of the page.
    private var pageLimit = firstPageRows

    /// The query of the first page.
    static func firstPage(of appID: String) -> Query<HistoryRow> {
        HistoryStatements.page(of: appID, after: 0, limit: firstPageRows)
    }

    /// Creates a reader that continues behind the first page; `pool` runs its further queries.
    init(from first: Rows<HistoryRow>, of turn: Turn, limit: Int, pool: PostgresPool, budget: MemoryBudget) {
        self.turn = turn
        self.limit = limit
        self.pool = pool
        self.budget = budget
        page = first
        encoder = TurnHistoryEncoder(of: turn, limit: limit)
        // The first page is in memory already, with or without room for it.
        memory = budget.charge(0)
    }

    /// Reads the history.
    ///
    /// - Parameter whole: whether to read long messages too while earlier turns are open. The caller reads the history again then.
    /// - Throws: `overloaded` if the budget has no memory for the history, `conversationReplaced`, `storeUnavailable`.
    mutating func read(evenIfUnfinished whole: Bool) async throws(RelayError) -> TurnHistory {
        try await encodeRows()
        var history = TurnHistory(
            messages: encoder.messages, unfinished: encoder.unfinished, isTooLarge: encoder.isTooLarge,
            omitted: encoder.omitted)
        guard !encoder.isTooLarge else {
            history.messages = EncodedMessages()
            return history
        }
        guard encoder.isComplete else { throw Self.replaced }
        if !encoder.missing.isEmpty {
            guard whole || history.unfinished.isEmpty else {
                return TurnHistory(unreadBehind: history.unfinished)
            }
            history.messages = try await readMissingMessages() ?? EncodedMessages()
            history.isTooLarge = history.messages.count == 0
        }
        memory.charge(to: Self.copies * history.messages.size)
        memory.shrink(to: Self.copies * history.messages.size)
        history.memory = memory
        return history
    }

    /// Encodes all rows, or only the path to the turn if the conversation has branches.
    private mutating func encodeRows() async throws(RelayError) {
        let first = page
        if try await !appendRows(on: nil) {
            // A row names the row that it follows, or the rows in order are too large. The path to the turn may be shorter.
            let links = try await run(HistoryStatements.links(of: turn.appID))
            if links.contains(where: { $0.parent != nil }) {
                page = first
                pageLimit = Self.firstPageRows
                encoder = TurnHistoryEncoder(of: turn, limit: limit)
                _ = try await appendRows(on: Self.path(to: turn, in: links))
            }
        }
        encoder.finish()
    }

    /// Appends all rows to the encoder, or the rows on a path.
    ///
    /// - Returns: `false` if the caller must find the path first.
    private mutating func appendRows(on path: [Int64]?) async throws(RelayError) -> Bool {
        var next = 0
        while true {
            encoder.reserveCapacity(for: page)
            for row in page {
                if let path {
                    guard next < path.count, row.seq == path[next] else {
                        encoder.skip(row)
                        continue
                    }
                    next += 1
                } else if row.parent != nil {
                    return false
                }
                guard encoder.append(row) else {
                    return !encoder.isTooLarge || path != nil
                }
            }
            guard page.count == pageLimit, let last = page.last else { return true }
            guard memory.grow(to: Self.copies * encoder.messages.size, for: .history) else {
                throw RelayError(overloading: budget)
            }
            let rowSize = max(64, page.memorySize / page.count)
            pageLimit = min(max(Self.pageBytes / rowSize, Self.pageRows.lowerBound), Self.pageRows.upperBound)
            page = try await run(HistoryStatements.page(of: turn.appID, after: last.seq, limit: pageLimit))
        }
    }

    /// Reads the messages that their pages omitted; `nil` if the history exceeds its limit.
    private mutating func readMissingMessages() async throws(RelayError) -> EncodedMessages? {
        let missing = encoder.missing
        let sizes = Array(
            try await run(HistoryStatements.sizes(of: turn.appID, seqs: Self.seqs(of: missing[...]))))
        guard sizes.count == missing.count else { throw Self.replaced }
        let known = encoder.messages
        let total = sizes.reduce(known.size, +)
        guard total <= limit else { return nil }
        // The reservation also covers the parts that a query returns.
        guard memory.grow(to: Self.copies * total + 2 * Self.groupBytes, for: .history) else {
            throw RelayError(overloading: budget)
        }
        var whole = EncodedMessages(capacity: total + total / 16, count: known.count)
        var next = 0
        var start = 0
        while start < missing.count {
            let end = Self.endOfGroup(from: start, sizes: sizes)
            let rows = try await run(
                HistoryStatements.rows(of: turn.appID, seqs: Self.seqs(of: missing[start..<end])))
            guard rows.count == end - start else { throw Self.replaced }
            for (row, (index, seq)) in zip(rows, missing[start..<end]) {
                whole.append(next..<index, of: known)
                whole.append(
                    role: row.role.bytes, content: row.message.bytes, extras: row.extras.bytes, seq: seq,
                    turn: known.entries[index].turn)
                next = index + 1
            }
            start = end
        }
        whole.append(next..<known.count, of: known)
        return whole
    }

    /// The end of the messages from an index that one query reads: at least one message.
    private static func endOfGroup(from start: Int, sizes: [Int]) -> Int {
        var end = start
        var bytes = 0
        repeat {
            bytes += sizes[end]
            end += 1
        } while end < sizes.count && bytes + sizes[end] <= groupBytes
        return end
    }

    private static func seqs(of messages: ArraySlice<(index: Int, seq: Int64)>) -> ParameterArray {
        var seqs = ParameterArray()
        for message in messages {
            seqs.append(message.seq)
        }
        return seqs
    }

    private func run<Record>(_ query: Query<Record>) async throws(RelayError) -> Rows<Record> {
        try await pool.runForRelay(query)
    }

    private static let replaced = RelayError(
        .conversationReplaced, "The conversation was replaced before the prompt was answered.")

    // MARK: - Branches

    /// The rows that lead to the reply of a turn, in order, the reply included. A row follows the row before it, unless its link
    /// names another one. Empty if the turn is gone.
    private static func path(to turn: Turn, in links: Rows<HistoryStatements.Link>) -> [Int64] {
        var path: [Int64] = []
        var next = index(of: turn.number, in: links[...])
        while let index = next {
            let link = links[index]
            path.append(link.seq)
            if let parent = link.parent {
                next = self.index(of: parent, in: links[..<index])
            } else {
                next = index > 0 ? index - 1 : nil
            }
        }
        return path.reversed()
    }

    /// The index of a row, found by bisection. A link never leads forward.
    private static func index(of seq: Int64, in links: Slice<Rows<HistoryStatements.Link>>) -> Int? {
        var (low, high) = (links.startIndex, links.endIndex)
        while low < high {
            let middle = (low + high) / 2
            let found = links[middle].seq
            if found == seq { return middle }
            if found < seq {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return nil
    }
}
