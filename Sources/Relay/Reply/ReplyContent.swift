import ChatterdBasics
import ChatterdLanguageModels

/// What a reply consists of so far, as far as it is still in memory.
struct ReplyContent {
    /// The bytes of each part that are kept in memory after they are in the journal, for readers who come a little late.
    static let kept = 64 << 10

    private let attempt: Int
    private var text = ReplyPart()
    private var thinking = ReplyPart()
    private var toolCalls = ReplyPart()
    /// Up to where readers may see it: what the last line carries belongs to the ending.
    private(set) var visible: ReplyPosition
    /// Up to where it is in the journal.
    private(set) var journalled: ReplyPosition
    /// A part of it is on its way to the journal.
    private(set) var isBeingJournalled = false
    /// The end of the journal write that lost its confirmation. The journal may have it.
    private var doubtful: ReplyPosition?

    init(attempt: Int) {
        self.attempt = attempt
        visible = ReplyPosition(attempt: attempt)
        journalled = visible
    }

    /// Where all of it ends.
    var end: ReplyPosition {
        ReplyPosition(
            attempt: attempt, text: text.count, thinking: thinking.count, toolCalls: toolCalls.count)
    }

    /// The bytes that are not in the journal.
    var unjournalled: Int { end.total - journalled.total }

    /// Appends what a line says; what the last line says stays invisible until the reply has ended.
    mutating func append(_ line: Span<UInt8>, _ fields: AnswerLine) {
        if let content = fields.content, !content.range.isEmpty {
            text.append(decodingJSON: line.extracting(content.range))
        }
        if let thought = fields.thinking, !thought.range.isEmpty {
            thinking.append(decodingJSON: line.extracting(thought.range))
        }
        if let calls = fields.toolCalls {
            toolCalls.append(elements: line.extracting((calls.lowerBound + 1)..<(calls.upperBound - 1)))
        }
        if !fields.isDone {
            visible.text = text.count
            visible.thinking = thinking.count
            visible.toolCalls = toolCalls.count
        }
    }

    /// Shows all of it: the reply has ended.
    mutating func showAll() {
        visible = end
    }

    /// What there is from a position to what is visible; nothing when that is not in memory any more.
    ///
    /// A position that is none of this reply's gives the page from its start.
    func page(from position: ReplyPosition) -> ReplyPage? {
        let start = visible.covers(position) ? position : ReplyPosition(attempt: attempt)
        return page(from: start, to: visible)
    }

    /// What is not in the journal yet.
    var rest: ReplyPage { page(from: journalled, to: end) ?? ReplyPage(start: journalled) }

    /// Appends the content that is not in the journal yet to `sheet`, and returns its end. `journalled` or `notJournalled` must
    /// follow.
    ///
    /// After a lost confirmation the sheet repeats the same content, without later additions. So the store cuts it into the same
    /// rows, and both tries produce each row once.
    mutating func journal(as turn: Turn, _ id: ReplyID, on sheet: any JournalSheet) -> ReplyPosition {
        isBeingJournalled = true
        let end = doubtful ?? end
        sheet.append(
            turn: turn, id: id, from: journalled, text: text.span(journalled.text..<end.text),
            thinking: thinking.span(journalled.thinking..<end.thinking),
            toolCalls: toolCalls.span(journalled.toolCalls..<end.toolCalls))
        return end
    }

    private func page(from start: ReplyPosition, to end: ReplyPosition) -> ReplyPage? {
        guard start.text >= text.start, start.thinking >= thinking.start, start.toolCalls >= toolCalls.start else {
            return nil
        }
        var start = start
        start.isEnd = false
        return ReplyPage(
            start: start, text: text.bytes(in: start.text..<end.text),
            thinking: thinking.bytes(in: start.thinking..<end.thinking),
            toolCalls: toolCalls.bytes(in: start.toolCalls..<end.toolCalls))
    }

    /// Notes that all up to a position is in the journal, and lets go of what nobody will ask memory for.
    mutating func journalled(to position: ReplyPosition) {
        isBeingJournalled = false
        doubtful = nil
        journalled = position
        text.letGo(before: position.text, keeping: Self.kept)
        thinking.letGo(before: position.thinking, keeping: Self.kept)
        toolCalls.letGo(before: position.toolCalls, keeping: Self.kept)
    }

    /// Records that the journal may lack the content up to a position.
    mutating func notJournalled(to position: ReplyPosition) {
        isBeingJournalled = false
        doubtful = position
    }
}
