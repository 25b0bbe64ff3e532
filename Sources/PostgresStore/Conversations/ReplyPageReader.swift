import ChatterdBasics
import ChatterdPostgres
import ChatterdRelay

/// Makes a page of what the store has of a reply: its row, and its journal while it is being made.
struct ReplyPageReader {
    /// The bytes of a page, apart from tool calls and the last piece of a journal.
    static let limit = 256 * 1024
    /// The bytes that one query reads of a closed reply: several pages.
    static let chunk = 8 * limit
    /// The minimum size of a page, in bytes. Pages end at multiples of `limit`, so that readers with different starts share the
    /// later pages. A page that would be smaller than this ends at the next multiple.
    private static let least = 1_024

    private let row: QueryResult
    private let journal: QueryResult

    /// Takes the result of `ReplyStatements.read`, one row, and of `JournalStatements.read`.
    init(row: QueryResult, journal: QueryResult) {
        self.row = row
        self.journal = journal
    }

    /// How often the reply was begun.
    var attempt: Int { row.int(0, 1) ?? 1 }

    /// The pages from the position of both queries, as far as the results reach; empty if the reply has no such position.
    func pages(from position: ReplyPosition) -> [ReplyPage] {
        guard position.attempt == attempt else { return [] }
        let state = row.string(0, 0).flatMap { ReplyState(rawValue: $0) }
        let pages = state.map { storedPages(from: position, state: $0) } ?? [journalPage(from: position)]
        guard let first = pages.first, first.text.beginsCharacter, first.thinking.beginsCharacter,
            position.toolCalls == 0 || first.toolCalls.first ?? .comma == .comma
        else { return [] }
        return pages
    }

    /// Whether the reply is closed.
    var isOver: Bool { row.string(0, 0).flatMap { ReplyState(rawValue: $0) } != nil }

    // MARK: - A reply that is over

    private func storedPages(from position: ReplyPosition, state: ReplyState) -> [ReplyPage] {
        let calls = toolCalls
        guard let textSize = row.int(0, 3), let thinkingSize = row.int(0, 4), position.text <= textSize,
            position.thinking <= thinkingSize, position.toolCalls <= calls.count
        else { return [] }
        let (text, thinking) = (row.array(0, 5), row.array(0, 6))
        var pages: [ReplyPage] = []
        var start = position
        while true {
            var page = ReplyPage(start: start)
            page.thinking = thinking.piece(
                from: start.thinking - position.thinking, upTo: Self.size(at: start.thinking))
            let isThought = page.end.thinking == thinkingSize
            if isThought {
                let room = page.thinking.isEmpty ? Self.size(at: start.text) : Self.limit - page.thinking.count
                page.text = text.piece(from: start.text - position.text, upTo: room)
            }
            if isThought, page.end.text == textSize {
                page.toolCalls = Array(calls[position.toolCalls...])
                page.ending = ReplyEnding(state: state, lastEvent: row.array(0, 2))
                return pages + [page]
            }
            // The end of the result may cut this page, so a later query reads it. The first page is never cut.
            let left =
                isThought
                ? text.count - (page.end.text - position.text)
                : thinking.count - (page.end.thinking - position.thinking)
            guard left >= Self.longestCharacter || pages.isEmpty else { return pages }
            pages.append(page)
            start = page.end
        }
    }

    /// Extra bytes that a query reads, to find the end of the last page.
    static let slack = least + 2 * longestCharacter
    private static let longestCharacter = 4

    /// The size of the page that starts at a byte of a part.
    private static func size(at start: Int) -> Int {
        ((start + least) / limit + 1) * limit - start
    }

    /// The elements of the tool calls: `extras` is their member, as `closeTurn` wrote it.
    private var toolCalls: [UInt8] {
        let extras = row.array(0, 7)
        let head = Array("\"tool_calls\":[".utf8)
        guard extras.starts(with: head), extras.last == UInt8(ascii: "]") else { return [] }
        return Array(extras[head.count..<(extras.count - 1)])
    }

    // MARK: - A reply in the making

    private func journalPage(from position: ReplyPosition) -> ReplyPage {
        var page = ReplyPage(start: position)
        for row in 0..<journal.rowCount {
            append(row, Column.text, to: &page.text, from: position.text)
            append(row, Column.thinking, to: &page.thinking, from: position.thinking)
            append(row, Column.toolCalls, to: &page.toolCalls, from: position.toolCalls)
        }
        return page
    }

    /// Appends what a piece has beyond what is there already; a piece that begins later still is left.
    private func append(_ row: Int, _ column: (at: Int, bytes: Int), to part: inout [UInt8], from start: Int) {
        let bytes = journal.bytes(row, column.bytes)
        guard let at = journal.int(row, column.at), case let known = start + part.count - at, 0..<bytes.count ~= known
        else { return }
        bytes.extracting(known...).withUnsafeBufferPointer { part.append(contentsOf: $0) }
    }

    private enum Column {
        static let text = (at: 0, bytes: 1)
        static let thinking = (at: 2, bytes: 3)
        static let toolCalls = (at: 4, bytes: 5)
    }
}

extension [UInt8] {
    /// Whether the first byte is not one from the middle of a UTF-8 sequence.
    fileprivate var beginsCharacter: Bool { first.map { $0 & 0xc0 != 0x80 } ?? true }

    /// The bytes from `start`, at most `limit`, cut between characters.
    fileprivate func piece(from start: Int, upTo limit: Int) -> [UInt8] {
        guard start < count, limit > 0 else { return [] }
        return Array(self[start..<characterBoundary(from: start, upTo: limit)])
    }

    /// The last place at most `limit` bytes after `start` that is not within a character of UTF-8.
    func characterBoundary(from start: Int, upTo limit: Int) -> Int {
        guard count - start > limit else { return count }
        var end = start + limit
        while end > start, self[end] & 0xc0 == 0x80 {
            end -= 1
        }
        return end
    }
}

extension UInt8 {
    fileprivate static let comma = UInt8(ascii: ",")
}
