import ChatterdBasics
import ChatterdPostgres
import ChatterdRelay

/// The new text of replies, as parameters of the statements that journal it.
final class PostgresJournalBatch: JournalBatch {
    /// The size limit of a row, in bytes. Tool calls may be longer.
    private static let pieceLimit = 64 * 1024
    /// The size of a query, in bytes, after which the next query begins.
    private static let queryLimit = 8 << 20

    private var columns = JournalColumns()
    /// Columns that are large enough for a separate query.
    private var full: [JournalColumns] = []
    private var sheet = SheetColumns()
    private var fullSheets: [SheetColumns] = []
    /// The replies whose owner is looked up.
    private var checked = OwnedColumns()
    private let lease: ProcessLease

    /// Creates a batch for the replies of a process.
    init(lease: ProcessLease) {
        self.lease = lease
    }

    func append(
        turn: Turn, id: ReplyID, from start: ReplyPosition, text: Span<UInt8>, thinking: Span<UInt8>,
        toolCalls: Span<UInt8>
    ) {
        if text.count + thinking.count + toolCalls.count <= Self.pieceLimit {
            columns.append(turn, id, from: start, text: text, thinking: thinking, toolCalls: toolCalls)
        } else {
            let page = ReplyPage(
                start: start, text: text.array, thinking: thinking.array, toolCalls: toolCalls.array)
            for piece in Self.pieces(of: page) {
                columns.append(
                    turn, id, from: piece.start, text: piece.text.span, thinking: piece.thinking.span,
                    toolCalls: piece.toolCalls.span)
            }
        }
        if columns.size >= Self.queryLimit {
            full.append(columns)
            columns = JournalColumns()
        }
    }

    func appendToSheet(
        turn: Turn, id: ReplyID, from start: ReplyPosition, slot: inout SheetSlot, generation: Int32,
        text: Span<UInt8>, thinking: Span<UInt8>, toolCalls: Span<UInt8>
    ) {
        var end = start
        func append(_ bytes: Span<UInt8>, _ part: SheetSlot.Part, _ size: WritableKeyPath<ReplyPosition, Int>) {
            guard !bytes.isEmpty else { return }
            let others = Int32(truncatingIfNeeded: end.total - end[keyPath: size])
            if !slot.isValid(for: part, others: others, generation: generation) {
                slot = SheetSlot(number: lease.nextSlot(), part: part, others: others, generation: generation)
                sheet.open(slot, for: id, attempt: start.attempt)
            }
            sheet.append(bytes, at: end[keyPath: size], slot: slot)
            end[keyPath: size] += bytes.count
        }
        append(thinking, .thinking, \.thinking)
        append(text, .text, \.text)
        append(toolCalls, .toolCalls, \.toolCalls)
        if sheet.size >= Self.queryLimit {
            fullSheets.append(sheet)
            sheet = SheetColumns()
        }
    }

    func checkOwner(of turn: Turn, id: ReplyID, attempt: Int) {
        checked.append(turn, id, attempt: attempt)
    }

    func removeAll() {
        columns.removeAll()
        full = []
        sheet.removeAll()
        fullSheets = []
        checked.removeAll()
    }

    /// The queries that write the sheets of the batches: one, unless they exceed the limit of a query. Without pieces, it returns only the
    /// generation.
    static func sheetQueries(of batches: [any JournalBatch], owner: ReplyID) -> [Query<Int32>] {
        let batches = batches.compactMap { $0 as? PostgresJournalBatch }
        let large = batches.flatMap(\.fullSheets).map { SheetStatements.write([$0], owner: owner) }
        return large + [SheetStatements.write(batches.map(\.sheet), owner: owner)]
    }

    /// The query for those of the replies that the process does not own any more; `nil` if no owner is looked up.
    static func lostQuery(of batches: [any JournalBatch], owner: ReplyID) -> Query<ReplyID>? {
        let checked = batches.compactMap { ($0 as? PostgresJournalBatch)?.checked }.filter { !$0.isEmpty }
        return checked.isEmpty ? nil : SheetStatements.lost(among: checked, owner: owner)
    }

    /// The queries that write the batches: one, unless they exceed the limit of a query.
    static func queries(of batches: [any JournalBatch], owner: ReplyID) -> [Query<ReplyID>] {
        var queries: [Query<ReplyID>] = []
        var together: [JournalColumns] = []
        for case let batch as PostgresJournalBatch in batches {
            queries += batch.full.map { JournalStatements.write([$0], owner: owner) }
            guard !batch.columns.isEmpty else { continue }
            if together.reduce(batch.columns.size, { $0 + $1.size }) > queryLimit {
                queries.append(JournalStatements.write(together, owner: owner))
                together = []
            }
            together.append(batch.columns)
        }
        if !together.isEmpty {
            queries.append(JournalStatements.write(together, owner: owner))
        }
        return queries
    }

    /// Cuts a page between characters into pieces that fit a row.
    ///
    /// Tool calls are never cut, because readers need them complete. They have a separate row.
    private static func pieces(of page: ReplyPage) -> [ReplyPage] {
        var pieces: [ReplyPage] = []
        var piece = ReplyPage(start: page.start)
        func cut(_ bytes: [UInt8], to part: WritableKeyPath<ReplyPage, [UInt8]>) {
            var start = 0
            while start < bytes.count {
                let free = pieceLimit - (piece.end.total - piece.start.total)
                let end = bytes.characterBoundary(from: start, upTo: free)
                piece[keyPath: part] += bytes[start..<end]
                if end < bytes.count {
                    pieces.append(piece)
                    piece = ReplyPage(start: piece.end)
                }
                start = end
            }
        }
        cut(page.thinking, to: \.thinking)
        cut(page.text, to: \.text)
        if !page.toolCalls.isEmpty, !piece.isEmpty {
            pieces.append(piece)
            piece = ReplyPage(start: piece.end)
        }
        piece.toolCalls = page.toolCalls
        return pieces + [piece]
    }
}
