import ChatterdBasics
import ChatterdLanguageModels
import ChatterdPostgres
import ChatterdRelay

/// Reads the history of a turn, page by page, and long messages separately. Memory for them is reserved first. Confined to its
/// shard.
struct HistoryReader {
    /// The number of rows of the first page. Most conversations have fewer.
    private static let firstPage = 256
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
    private var page: QueryResult
    private var rowsAsked = firstPage

    /// The query of the first page.
    static func first(of appID: String) -> Query {
        Query(HistoryStatements.page, .text(appID), .int8(0), .int8(firstPage))
    }

    /// Creates a reader that continues behind the first page; `pool` runs its further queries.
    init(from first: QueryResult, of turn: Turn, limit: Int, pool: PostgresPool, budget: MemoryBudget) {
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
        let first = page
        var path: [Int64]?
        if try await !takeRows(on: nil) {
            // A row names the row that it follows, or the rows in order are too large. The path to the turn may be shorter.
            let links = try await run(Query(HistoryStatements.links, .text(turn.appID)))
            if (0..<links.rowCount).contains(where: { !links.isNull($0, 1) }) {
                path = Self.path(to: turn, in: links)
            }
        }
        if let path {
            page = first
            rowsAsked = Self.firstPage
            encoder = TurnHistoryEncoder(of: turn, limit: limit)
            _ = try await takeRows(on: path)
        }
        encoder.finish()
        var history = TurnHistory(
            messages: encoder.messages, unfinished: encoder.unfinished, isTooLarge: encoder.isTooLarge,
            omitted: encoder.omitted)
        guard !encoder.isTooLarge else {
            history.messages = EncodedMessages()
            return history
        }
        guard encoder.isComplete else {
            throw RelayError(.conversationReplaced, "The conversation was replaced before the prompt was answered.")
        }
        if !encoder.missing.isEmpty {
            guard whole || history.unfinished.isEmpty else {
                return TurnHistory(unreadBehind: history.unfinished)
            }
            history.messages = try await fill() ?? EncodedMessages()
            history.isTooLarge = history.messages.count == 0
        }
        memory.charge(to: Self.copies * history.messages.size)
        memory.shrink(to: Self.copies * history.messages.size)
        history.memory = memory
        return history
    }

    /// Takes all rows, or the rows on a path.
    ///
    /// - Returns: `false` if the caller must find the path first.
    private mutating func takeRows(on path: [Int64]?) async throws(RelayError) -> Bool {
        var next = 0
        while true {
            encoder.makeRoom(for: page)
            for row in 0..<page.rowCount {
                if let path {
                    guard next < path.count, page.int(row, HistoryColumn.seq) == Int(path[next]) else {
                        encoder.leave(row, in: page)
                        continue
                    }
                    next += 1
                } else if !page.isNull(row, HistoryColumn.after) {
                    return false
                }
                guard encoder.take(row, in: page) else {
                    return !encoder.isTooLarge || path != nil
                }
            }
            guard page.rowCount == rowsAsked, let last = page.int(page.rowCount - 1, HistoryColumn.seq) else {
                return true
            }
            guard memory.grow(to: Self.copies * encoder.messages.size, for: .history) else {
                throw RelayError(overloading: budget)
            }
            let rowSize = max(64, page.memorySize / page.rowCount)
            rowsAsked = min(max(Self.pageBytes / rowSize, Self.pageRows.lowerBound), Self.pageRows.upperBound)
            page = try await run(
                Query(HistoryStatements.page, .text(turn.appID), .int8(last), .int8(rowsAsked)))
        }
    }

    /// Reads the messages that their pages omitted; `nil` if the history exceeds its limit.
    private mutating func fill() async throws(RelayError) -> EncodedMessages? {
        let missing = encoder.missing
        let sizes = try await run(
            Query(HistoryStatements.sizes, .text(turn.appID), Self.places(of: missing[...])))
        guard sizes.rowCount == missing.count else { throw Self.replaced }
        let known = encoder.messages
        let total = (0..<sizes.rowCount).reduce(known.size) { $0 + (sizes.int($1, 1) ?? 0) }
        guard total <= limit else { return nil }
        // The reservation also covers the parts that a query returns.
        guard memory.grow(to: Self.copies * total + 2 * Self.groupBytes, for: .history) else {
            throw RelayError(overloading: budget)
        }
        var whole = EncodedMessages(capacity: total + total / 16, count: known.count)
        var next = 0
        var start = 0
        while start < missing.count {
            var end = start
            var bytes = 0
            repeat {
                bytes += sizes.int(end, 1) ?? 0
                end += 1
            } while end < missing.count && bytes + (sizes.int(end, 1) ?? 0) <= Self.groupBytes
            let rows = try await run(
                Query(
                    HistoryStatements.rows, .text(turn.appID), Self.places(of: missing[start..<end])))
            guard rows.rowCount == end - start else { throw Self.replaced }
            for (row, (index, place)) in missing[start..<end].enumerated() {
                whole.append(next..<index, of: known)
                whole.append(
                    role: rows.bytes(row, 1), content: rows.bytes(row, 2), extras: rows.bytes(row, 3), place: place,
                    turn: known.entries[index].turn)
                next = index + 1
            }
            start = end
        }
        whole.append(next..<known.count, of: known)
        return whole
    }

    private static func places(of messages: ArraySlice<(index: Int, place: Int64)>) -> Parameter {
        var places = ParameterArray()
        for message in messages {
            places.append(message.place)
        }
        return .array(of: .int8, [places])
    }

    private func run(_ query: Query) async throws(RelayError) -> QueryResult {
        try await pool.runForRelay([query], attempts: 1)[0]
    }

    private static let replaced = RelayError(
        .conversationReplaced, "The conversation was replaced before the prompt was answered.")

    // MARK: - Branches

    /// The places that lead to the reply of a turn, in order, the reply included. A row follows the row before it, unless it names
    /// another one. Empty if the turn is gone.
    private static func path(to turn: Turn, in links: QueryResult) -> [Int64] {
        var path: [Int64] = []
        var next = row(of: turn.number, in: links, before: links.rowCount)
        while let row = next, let place = links.int(row, 0) {
            path.append(Int64(place))
            if let after = links.int(row, 1) {
                next = self.row(of: Int64(after), in: links, before: row)
            } else {
                next = row > 0 ? row - 1 : nil
            }
        }
        return path.reversed()
    }

    /// The index of the row with a place, among the rows before `end`. A link never leads forward.
    private static func row(of place: Int64, in links: QueryResult, before end: Int) -> Int? {
        var low = 0
        var high = end
        while low < high {
            let middle = (low + high) / 2
            guard let found = links.int(middle, 0) else { return nil }
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
