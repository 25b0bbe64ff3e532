import ChatterdBasics
import ChatterdPostgres
import ChatterdRelay

/// What replies have grown by, as the parameters of the statement that journals it.
final class PostgresJournalSheet: JournalSheet, @unchecked Sendable {
    /// The bytes of a row, at most; tool calls may be longer.
    private static let pieceLimit = 64 * 1024
    /// The bytes of a query after which another one is begun.
    private static let queryLimit = 8 << 20

    private var columns = JournalColumns()
    /// Those that are large enough for a query of their own.
    private var full: [JournalColumns] = []

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

    func removeAll() {
        columns.removeAll()
        full = []
    }

    /// The queries that write what is on the sheets: one, unless that is very much.
    static func queries(of sheets: [any JournalSheet], holder: Parameter) -> [Query] {
        var queries: [Query] = []
        var together: [JournalColumns] = []
        for case let sheet as PostgresJournalSheet in sheets {
            queries += sheet.full.map { JournalColumns.query([$0], holder: holder) }
            guard !sheet.columns.isEmpty else { continue }
            if together.reduce(sheet.columns.size, { $0 + $1.size }) > queryLimit {
                queries.append(JournalColumns.query(together, holder: holder))
                together = []
            }
            together.append(sheet.columns)
        }
        if !together.isEmpty {
            queries.append(JournalColumns.query(together, holder: holder))
        }
        return queries
    }

    /// Cuts a page between characters into what fits a row.
    ///
    /// Tool calls are never cut: readers take them in whole only. They are a row of their own.
    private static func pieces(of page: ReplyPage) -> [ReplyPage] {
        var pieces: [ReplyPage] = []
        var piece = ReplyPage(start: page.start)
        func cut(_ bytes: [UInt8], to part: WritableKeyPath<ReplyPage, [UInt8]>) {
            var taken = 0
            while taken < bytes.count {
                let room = pieceLimit - (piece.end.total - piece.start.total)
                let end = bytes.characterBoundary(from: taken, upTo: room)
                piece[keyPath: part] += bytes[taken..<end]
                if end < bytes.count {
                    pieces.append(piece)
                    piece = ReplyPage(start: piece.end)
                }
                taken = end
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
