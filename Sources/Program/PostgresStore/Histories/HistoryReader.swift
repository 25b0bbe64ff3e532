import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// Reads the history of a turn, newest rows first: page by page, and long messages separately. Memory for them is reserved first.
///
/// The reader stops at the rows that the cache has, or at the reach. Confined to its shard.
struct HistoryReader {
    /// The number of rows of the first page. Most conversations have fewer.
    private static let firstPageRows = 256
    /// The target size of a later page in bytes, and the range of its number of rows.
    private static let pageBytes = 65_536...4 << 20
    private static let pageRows = 64...8_192
    /// The size of the messages of a page that has only the longest ones, in bytes, without their extras: the rows of the page before may have
    /// been short.
    private static let largestPage = 32 << 20
    /// Limit of the long messages that one query reads, in bytes.
    private static let groupBytes = 4 << 20
    /// The number of rows at the beginning of a conversation among which the reader looks for the first system messages.
    private static let beginningRows = 64
    /// The number of copies of a history: one here, and one in the request to a model server that needs a translation.
    private static let copies = TurnHistory.copiesOnTheWay

    private let pool: PostgresPool
    private let budget: MemoryBudget
    private let turn: Turn
    private let id: ReplyID
    private let limit: Int
    private let reach: HistoryReach?
    /// The beginning of the history, if it is kept and the reader does not need more.
    private var kept: KeptHistory?
    private var selection: HistorySelection
    private var page: Rows<HistoryRow>
    /// The page has rows behind this number.
    private var pageStart: Int64
    /// The maximum number of rows of the page.
    private var pageLimit = firstPageRows
    /// The messages of each page, the newest page first.
    private var pages: [EncodedConversation] = []
    private var memory: MemoryReservation
    /// The numbers between the first system messages and the rows that were read; `nil` if there are none.
    private var skipped: ClosedRange<Int64>?

    /// The query of the first page: the rows up to a turn, or all rows, that no kept history has.
    static func firstPage(
        of conversation: ConversationKey, behind start: Int64 = 0, upTo turn: Int64 = .max
    ) -> Query<HistoryRow> {
        HistoryStatements.page(of: conversation, after: start, upTo: turn, limit: firstPageRows)
    }

    /// Creates a reader that continues behind the first page.
    ///
    /// - Parameters:
    ///   - start: the number of the row behind which the first page was read.
    ///   - kept: the history up to that row, if it is known.
    ///   - limit: the maximum size of the messages in bytes.
    ///   - reach: how far back the reader reads; `nil` for the whole history.
    ///   - pool: runs further queries.
    init(
        from first: Rows<HistoryRow>, behind start: Int64 = 0, _ kept: KeptHistory? = nil, of turn: Turn,
        for id: ReplyID, limit: Int, reach: HistoryReach? = nil, pool: PostgresPool, budget: MemoryBudget
    ) {
        self.turn = turn
        self.id = id
        self.limit = limit
        self.reach = reach
        self.kept = kept
        self.pool = pool
        self.budget = budget
        page = first
        pageStart = start
        selection = HistorySelection(of: turn.number, limit: limit, reach: reach)
        // The first page is in memory already, with or without room for it.
        memory = budget.charge(0)
    }

    /// Reads the history.
    ///
    /// - Parameter whole: whether to run further queries while earlier turns are open. The caller reads the history again then.
    /// - Throws: `overloaded` if the budget has no memory for the history, `conversationReplaced`, `storeUnavailable`.
    mutating func read(evenIfUnfinished whole: Bool) async throws(RelayError) -> TurnHistory {
        if pageStart >= turn.number {
            // The database has lost rows, and their numbers are used again.
            kept = nil
            try await readNextPage()
        }
        while true {
            guard try await takePage(evenIfUnfinished: whole) else {
                return TurnHistory(unreadBehind: selection.unfinished)
            }
            if selection.isTooLarge { return tooLarge }
            if try await hasAllRows() { break }
            guard whole || selection.unfinished.isEmpty else {
                return TurnHistory(unreadBehind: selection.unfinished)
            }
            try await readNextPage()
        }
        selection.finish()
        return try await assemble()
    }

    /// The history that a store keeps for the next turn; `nil` if the history is not worth it, or not settled.
    func history(keptOf history: TurnHistory, at version: HistoryVersion?) -> KeptHistory? {
        guard let version, let junction = selection.junction, history.unfinished.isEmpty, !history.isTooLarge,
            junction.seq > 0
        else { return nil }
        let messages = history.messages.messages(0..<history.messages.count - junction.messages)
        if history.skipped != nil, let reach, reach.isExceeded(by: messages, times: 2) {
            // The next reader reads the window again, and this history does not grow with the conversation.
            return nil
        }
        return KeptHistory(
            version: version, turn: turn, id: id, junction: junction.seq, messages: messages,
            omitted: history.omitted.filter { $0.numbers.upperBound <= junction.seq }, skipped: history.skipped)
    }

    private var tooLarge: TurnHistory {
        TurnHistory(messages: EncodedConversation(), unfinished: selection.unfinished, isTooLarge: true)
    }

    // MARK: - Pages

    /// Selects and encodes the rows of the page.
    ///
    /// - Returns: `false` if long messages are left out because earlier turns are open.
    private mutating func takePage(evenIfUnfinished whole: Bool) async throws(RelayError) -> Bool {
        let rows = Array(page)
        let bound = selection.bound
        let sizes = try await sizes(ofLong: rows.filter { $0.isIncomplete && $0.seq <= bound })
        let selected = selection.select(rows, sizes: sizes)
        guard selection.isComplete else { throw Self.replaced }
        guard !selection.isTooLarge else { return true }
        let hasLong = selected.contains(where: \.row.isIncomplete)
        guard !hasLong || whole || selection.unfinished.isEmpty else { return false }
        pages.append(try await encode(selected, of: page, sizes: sizes, hasLong: hasLong))
        return true
    }

    /// The sizes of the rows whose texts their page omits.
    private mutating func sizes(
        ofLong rows: [HistoryRow]
    ) async throws(RelayError) -> [Int64: HistoryStatements.Size] {
        var seqs = ParameterArray()
        for row in rows where row.isIncomplete {
            seqs.append(row.seq)
        }
        guard !seqs.isEmpty else { return [:] }
        var sizes: [Int64: HistoryStatements.Size] = [:]
        for size in try await run(HistoryStatements.sizes(of: turn.conversation, seqs: seqs)) {
            sizes[size.seq] = size
        }
        return sizes
    }

    /// Whether the reader has all rows that it needs: it has reached the beginning of the branch, the kept history, or its reach.
    private mutating func hasAllRows() async throws(RelayError) -> Bool {
        if selection.isBeyondReach {
            return try await readHead()
        }
        if selection.isFinished {
            kept = nil
            return true
        }
        guard page.count < pageLimit else { return false }
        guard let kept else { return pageStart == 0 }
        // The rows behind the junction are read, so the next row on the branch is the junction, unless a link leads behind it.
        if selection.bound >= kept.junction, isSufficient(kept) { return true }
        self.kept = nil
        return false
    }

    /// Whether a kept history with the messages behind it is whole, or beyond the reach.
    private func isSufficient(_ kept: KeptHistory) -> Bool {
        guard kept.skipped != nil else { return true }
        guard let reach else { return false }
        return reach.isExceeded(by: kept.messages, and: pages)
    }

    private mutating func readNextPage() async throws(RelayError) {
        guard memory.grow(to: Self.copies * byteCount, for: .history) else { throw RelayError(overloading: budget) }
        let rowSize = max(64, page.memorySize / max(1, page.count))
        let bytes = reach.map { Int(Double($0.tokens) * $0.bytesPerToken) } ?? .max
        pageLimit = (bytes.clamped(to: Self.pageBytes) / rowSize).clamped(to: Self.pageRows)
        pageStart = kept?.junction ?? 0
        page = try await run(
            HistoryStatements.page(
                of: turn.conversation, after: pageStart, upTo: selection.bound, limit: pageLimit,
                longest: (Self.largestPage / pageLimit).clamped(to: HistoryStatements.inlineLimits)))
    }

    private var byteCount: Int { pages.reduce(0) { $0 + $1.byteCount } }

    // MARK: - Messages

    /// Encodes selected rows of a page in their order. Long messages are read first.
    private mutating func encode(
        _ selected: [HistorySelection.Message], of page: Rows<HistoryRow>,
        sizes: [Int64: HistoryStatements.Size], hasLong: Bool
    ) async throws(RelayError) -> EncodedConversation {
        var messages = EncodedConversation()
        guard hasLong else {
            for message in selected.reversed() {
                message.row.append(to: &messages, from: page, turn: message.turn)
            }
            messages.trim()
            return messages
        }
        let total = sizes.values.reduce(byteCount) { $0 + $1.message + $1.extras }
        // The reservation also covers the parts that a query returns.
        guard memory.grow(to: Self.copies * total + 2 * Self.groupBytes, for: .history) else {
            throw RelayError(overloading: budget)
        }
        var rest = Array(selected.reversed())[...]
        while let group = Self.nextGroup(of: &rest, sizes: sizes) {
            var seqs = ParameterArray()
            for message in group where message.row.isIncomplete {
                seqs.append(message.row.seq)
            }
            let texts = try await run(HistoryStatements.rows(of: turn.conversation, seqs: seqs))
            guard texts.count == group.count(where: \.row.isIncomplete) else { throw Self.replaced }
            var next = texts.startIndex
            for message in group {
                guard message.row.isIncomplete else {
                    message.row.append(to: &messages, from: page, turn: message.turn)
                    continue
                }
                let row = texts[next]
                next += 1
                messages.append(
                    role: row.role.bytes, content: row.message.bytes, extras: row.extras.bytes, seq: message.row.seq,
                    turn: message.turn)
            }
        }
        messages.trim()
        return messages
    }

    /// Removes the next messages whose long texts one query reads: at least one message. `nil` if there are none.
    private static func nextGroup(
        of rest: inout ArraySlice<HistorySelection.Message>, sizes: [Int64: HistoryStatements.Size]
    ) -> ArraySlice<HistorySelection.Message>? {
        guard !rest.isEmpty else { return nil }
        var bytes = 0
        let end = rest.dropFirst().firstIndex { message in
            bytes += sizes[message.row.seq].map { $0.message + $0.extras } ?? 0
            return bytes > groupBytes
        }
        defer { rest = rest[(end ?? rest.endIndex)...] }
        return rest[..<(end ?? rest.endIndex)]
    }

    /// Joins the kept history and the pages.
    private mutating func assemble() async throws(RelayError) -> TurnHistory {
        for place in selection.removed {
            let index = pages[place.page].count - 1 - place.index
            pages[place.page] = pages[place.page].removing(index..<index + 1)
        }
        var history = TurnHistory(
            messages: kept?.messages ?? EncodedConversation(), unfinished: selection.unfinished,
            omitted: kept?.omitted ?? [])
        for page in pages.reversed() {
            history.messages.append(page)
        }
        for range in selection.omitted {
            history.omitted.append(range)
        }
        history.skipped = kept?.skipped ?? skipped
        guard history.messages.byteCount <= limit else { return tooLarge }
        memory.charge(to: Self.copies * history.messages.byteCount)
        memory.shrink(to: Self.copies * history.messages.byteCount)
        history.memory = memory
        return history
    }

    // MARK: - The beginning

    /// Reads the first system messages of the branch, after the selection has ended before them.
    ///
    /// - Returns: `false` if they have no end among the first rows. The reader then continues with the whole history.
    private mutating func readHead() async throws(RelayError) -> Bool {
        kept = nil
        var transaction = Transaction()
        let first = transaction.add(HistoryStatements.firstRows(of: turn.conversation, limit: Self.beginningRows))
        let place = transaction.add(
            HistoryStatements.branchRow(of: turn.conversation, leadingTo: selection.bound, limit: Self.beginningRows))
        let results = try await run(transaction)
        let rows = results[first]
        guard let oldest = rows.last, let newest = results[place].first else { throw Self.replaced }
        var beginning = HistorySelection(upTo: newest)
        let selected = Array(beginning.select(rows).reversed())
        let head = selected.prefix { $0.row.role == .system }
        let firstRead = pages.last { !$0.isEmpty }?[0].seq ?? turn.number
        let start = head.last.map { $0.row.seq + 1 } ?? oldest.seq
        guard head.count < selected.count, start < firstRead else {
            selection.continueWithoutReach()
            return false
        }
        skipped = start...firstRead - 1
        let sizes = try await sizes(ofLong: head.map(\.row))
        pages.append(try await encode(head.reversed(), of: rows, sizes: sizes, hasLong: !sizes.isEmpty))
        return true
    }

    // MARK: - Queries

    private func run<Record>(_ query: Query<Record>) async throws(RelayError) -> Rows<Record> {
        var transaction = Transaction()
        let step = transaction.add(query)
        return try await run(transaction)[step]
    }

    /// Runs queries, and looks for the reply of the turn after them.
    ///
    /// - Throws: `conversationReplaced` if the reply is gone: the queries may have read rows of another conversation.
    private func run(_ queries: Transaction) async throws(RelayError) -> Transaction.Results {
        var transaction = queries
        let reply = transaction.add(ConversationStatements.isReplayed(turn, id: id))
        let results = try await pool.runForRelay(transaction)
        guard results[reply].count == 1 else { throw Self.replaced }
        return results
    }

    static let replaced = RelayError(
        .conversationReplaced, "The conversation was replaced before the prompt was answered.")
}

extension Int {
    fileprivate func clamped(to range: ClosedRange<Int>) -> Int {
        Swift.min(Swift.max(self, range.lowerBound), range.upperBound)
    }
}
