import Bytes
import Postgres
import Relay

/// Replies in the making, as other processes see them.
extension PostgresConversationStore {
    func journal(_ entries: [JournalEntry]) async throws(RelayError) -> [ReplySignal] {
        let writing = JournalBatch.queries(of: entries, holder: lease.parameter)
        var results = try await run(
            (writing.isEmpty ? [] : [Query(JournalStatements.writeLock)]) + writing
                + [Query(JournalStatements.signals, lease.parameter)])
        var signals: [ReplySignal] = []
        if let told = results.popLast() {
            for row in 0..<told.rowCount {
                if let id = told.replyID(row, 0),
                    let kind = told.string(row, 1).flatMap(ReplySignal.Kind.init(rawValue:))
                {
                    signals.append(ReplySignal(id: id, kind: kind))
                }
            }
        }
        for gone in results.dropFirst() {
            for row in 0..<gone.rowCount {
                if let id = gone.replyID(row, 0), !signals.contains(ReplySignal(id: id, kind: .gone)) {
                    signals.append(ReplySignal(id: id, kind: .gone))
                }
            }
        }
        return signals
    }

    func signal(_ kind: ReplySignal.Kind, to reply: ReplyRecord) async throws(RelayError) {
        _ = try await run([
            Query(
                JournalStatements.signal, .text(reply.turn.appID), .int8(reply.turn.number), reply.id.parameter,
                .text(kind.rawValue))
        ])
    }
}

/// The rows that entries of the journal become, column by column.
struct JournalBatch {
    /// The bytes of a row, at most; tool calls may be longer.
    static let pieceLimit = 64 * 1024
    /// The bytes of a query after which another one is begun.
    private static let queryLimit = 8 << 20

    private var appIDs: [String] = []
    private var numbers: [Int64] = []
    private var replies: [(high: UInt64, low: UInt64)] = []
    private var attempts: [Int64] = []
    private var starts: [Int64] = []
    private var textStarts: [Int64] = []
    private var thinkingStarts: [Int64] = []
    private var callStarts: [Int64] = []
    private var texts: [[UInt8]] = []
    private var thoughts: [[UInt8]] = []
    private var calls: [[UInt8]] = []
    private var size = 0

    /// The queries that write the entries: one, unless they are very large.
    static func queries(of entries: [JournalEntry], holder: Parameter) -> [Query] {
        var queries: [Query] = []
        var batch = JournalBatch()
        for entry in entries {
            if entry.page.end.total - entry.page.start.total <= pieceLimit {
                batch.append(entry.page, of: entry)
            } else {
                for piece in pieces(of: entry.page) {
                    batch.append(piece, of: entry)
                }
            }
            if batch.size >= queryLimit {
                queries.append(batch.query(holder))
                batch = JournalBatch()
            }
        }
        if !batch.starts.isEmpty {
            queries.append(batch.query(holder))
        }
        return queries
    }

    /// Cuts a page between characters into what fits a row; an empty page is one empty piece.
    ///
    /// Tool calls are never cut: readers take them in whole only. They are a row of their own.
    static func pieces(of page: ReplyPage) -> [ReplyPage] {
        guard page.end.total - page.start.total > pieceLimit else { return [page] }
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

    private mutating func append(_ piece: ReplyPage, of entry: JournalEntry) {
        appIDs.append(entry.turn.appID)
        numbers.append(entry.turn.number)
        replies.append((entry.id.high, entry.id.low))
        attempts.append(Int64(piece.start.attempt))
        starts.append(Int64(piece.start.total))
        textStarts.append(Int64(piece.start.text))
        thinkingStarts.append(Int64(piece.start.thinking))
        callStarts.append(Int64(piece.start.toolCalls))
        texts.append(piece.text)
        thoughts.append(piece.thinking)
        calls.append(piece.toolCalls)
        size += piece.end.total - piece.start.total
    }

    private func query(_ holder: Parameter) -> Query {
        Query(
            JournalStatements.write, holder, .textArray(appIDs), .int8Array(numbers), .uuidArray(replies),
            .int8Array(attempts), .int8Array(starts), .int8Array(textStarts), .int8Array(thinkingStarts),
            .int8Array(callStarts), .utf8Array(texts), .utf8Array(thoughts), .utf8Array(calls))
    }
}
