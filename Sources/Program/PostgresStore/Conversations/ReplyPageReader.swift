import ChatterdBasics
import ChatterdChat
import ChatterdPostgres
import ChatterdRelay

/// Builds pages of a reply from its row, or from its journal while it is running.
struct ReplyPageReader {
    /// The size limit of a page, in bytes, without tool calls and the last piece of a journal.
    static let limit = 256 * 1024
    /// The bytes that one query reads of a closed reply, for several pages.
    static let chunk = 8 * limit
    /// The minimum size of a page, in bytes. Pages end at multiples of `limit`, so that readers with different starts share the
    /// later pages. A page that would be smaller than this ends at the next multiple.
    private static let least = 1_024

    private let reply: StoredReply
    private let journal: Rows<JournalStatements.Piece>

    /// Creates a reader of the row of a reply and of its journal.
    init(_ reply: StoredReply, journal: Rows<JournalStatements.Piece>) {
        self.reply = reply
        self.journal = journal
    }

    /// The pages from the position of both queries, as far as the results reach; empty if the reply has no such position.
    func pages(from position: ReplyPosition) -> [ReplyPage] {
        guard position.attempt == reply.attempt else { return [] }
        var pages = reply.state.map { storedPages(from: position, state: $0) } ?? [journalPage(from: position)]
        guard let first = pages.first, first.text.beginsCharacter, first.thinking.beginsCharacter,
            position.toolCalls == 0 || first.toolCalls.first ?? .comma == .comma
        else { return [] }
        if let steps = ReplySteps(stored: reply.extras, version: reply.version) {
            for index in pages.indices { pages[index].steps = steps }
        }
        return pages
    }

    // MARK: - Closed replies

    private func storedPages(from position: ReplyPosition, state: ReplyState) -> [ReplyPage] {
        let calls = toolCalls
        guard position.text <= reply.textSize, position.thinking <= reply.thinkingSize,
            position.toolCalls <= calls.count
        else { return [] }
        let (text, thinking) = (reply.text, reply.thinking)
        var pages: [ReplyPage] = []
        var start = position
        while true {
            var page = ReplyPage(start: start)
            page.thinking = thinking.piece(
                from: start.thinking - position.thinking, upTo: Self.size(at: start.thinking))
            let hasAllThinking = page.end.thinking == reply.thinkingSize
            if hasAllThinking {
                let free = page.thinking.isEmpty ? Self.size(at: start.text) : Self.limit - page.thinking.count
                page.text = text.piece(from: start.text - position.text, upTo: free)
            }
            if hasAllThinking, page.end.text == reply.textSize {
                page.toolCalls = Array(calls[position.toolCalls...])
                page.ending = ReplyEnding(state: state, lastEvent: reply.lastEvent)
                return pages + [page]
            }
            // The end of the result may cut this page, so a later query reads it. The first page is never cut.
            let left =
                hasAllThinking
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

    /// The elements of the tool calls, as `closeTurn` wrote them: their member is alone, or the last one.
    private var toolCalls: [UInt8] {
        let head = Array("\"tool_calls\":[".utf8)
        guard reply.extras.starts(with: head), reply.extras.last == UInt8(ascii: "]") else {
            return AnswerSteps.callsAfterSteps(in: reply.extras.span)
        }
        return Array(reply.extras[head.count..<(reply.extras.count - 1)])
    }

    // MARK: - Running replies

    private func journalPage(from position: ReplyPosition) -> ReplyPage {
        var page = ReplyPage(start: position)
        for piece in journal {
            Self.append(piece.text, to: &page.text, from: position.text)
            Self.append(piece.thinking, to: &page.thinking, from: position.thinking)
            Self.append(piece.toolCalls, to: &page.toolCalls, from: position.toolCalls)
        }
        return page
    }

    /// Appends the bytes of a piece that `part` lacks. It ignores a piece that starts behind a gap.
    private static func append(_ piece: JournalStatements.Piece.Part, to part: inout [UInt8], from start: Int) {
        let bytes = piece.bytes.bytes
        let known = start + part.count - piece.start
        guard 0..<bytes.count ~= known else { return }
        bytes.extracting(known...).withUnsafeBufferPointer { part.append(contentsOf: $0) }
    }
}

extension [UInt8] {
    /// Whether the array starts at the boundary of a UTF-8 character.
    fileprivate var beginsCharacter: Bool { first.map { $0 & 0xc0 != 0x80 } ?? true }

    /// The bytes from `start`, at most `limit`, cut between characters.
    fileprivate func piece(from start: Int, upTo limit: Int) -> [UInt8] {
        guard start < count, limit > 0 else { return [] }
        return Array(self[start..<characterBoundary(from: start, upTo: limit)])
    }

    /// The last index at most `limit` bytes after `start` that is at the boundary of a UTF-8 character.
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

/// The row of a reply, as `ReplyStatements.read` returns it. Only a closed reply has texts here.
struct StoredReply {
    /// `nil` while the reply is running.
    let state: ReplyState?
    let attempt: Int
    /// The data of the last event.
    let lastEvent: [UInt8]
    /// The size of the whole text, in bytes.
    let textSize: Int
    /// The size of all thoughts, in bytes.
    let thinkingSize: Int
    /// The text from the position that was asked for.
    let text: [UInt8]
    /// The thoughts from the position that was asked for.
    let thinking: [UInt8]
    /// The further members of the message: steps, and the tool calls that `closeTurn` wrote. Of a running reply only the steps, and only if
    /// they were asked for and have another version.
    let extras: [UInt8]
    /// The version of the row.
    let version: String
}
