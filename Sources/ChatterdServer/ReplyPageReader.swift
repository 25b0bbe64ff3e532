import Bytes
import Postgres
import Relay

/// Makes a page of what the store has of a reply: its row, and its journal while it is being made.
struct ReplyPageReader {
    /// The bytes of a page, apart from tool calls and the last piece of a journal.
    static let limit = 256 * 1024

    private let row: QueryResult
    private let journal: QueryResult

    /// Takes the result of `ReplyStatements.read`, one row, and of `JournalStatements.read`.
    init(row: QueryResult, journal: QueryResult) {
        self.row = row
        self.journal = journal
    }

    /// How often the reply was begun.
    var attempt: Int { row.int(0, 1) ?? 1 }

    /// The page from the position that both were read from; nothing if there is no such place in the reply.
    func page(from position: ReplyPosition) -> ReplyPage? {
        guard position.attempt == attempt else { return nil }
        let state = row.string(0, 0).flatMap { ReplyState(rawValue: $0) }
        let page = state.map { storedPage(from: position, state: $0) } ?? journalPage(from: position)
        guard let page, page.text.beginsCharacter, page.thinking.beginsCharacter,
            position.toolCalls == 0 || page.toolCalls.first ?? .comma == .comma
        else { return nil }
        return page
    }

    // MARK: - A reply that is over

    private func storedPage(from position: ReplyPosition, state: ReplyState) -> ReplyPage? {
        let calls = toolCalls
        guard let textSize = row.int(0, 3), let thinkingSize = row.int(0, 4), position.text <= textSize,
            position.thinking <= thinkingSize, position.toolCalls <= calls.count
        else { return nil }
        var page = ReplyPage(start: position)
        page.thinking = row.array(0, 6).wholeCharacters(upTo: Self.limit)
        guard page.end.thinking == thinkingSize else { return page }
        page.text = row.array(0, 5).wholeCharacters(upTo: Self.limit - page.thinking.count)
        guard page.end.text == textSize else { return page }
        page.toolCalls = Array(calls[position.toolCalls...])
        page.ending = ReplyEnding(state: state, lastEvent: row.array(0, 2))
        return page
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

    /// The first bytes up to a limit, cut between characters.
    func wholeCharacters(upTo limit: Int) -> [UInt8] {
        Array(self[..<characterBoundary(from: 0, upTo: limit)])
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
