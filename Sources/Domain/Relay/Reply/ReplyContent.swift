import ChatterdBasics
import ChatterdChat

/// The content of a running reply, as far as it is in memory.
struct ReplyContent {
    /// The journalled bytes of each part that stay in memory for readers that are slightly late.
    static let kept = 64 << 10

    private let attempt: Int
    private var text = ReplyPart()
    private var thinking = ReplyPart()
    private var toolCalls = ReplyPart()
    /// The end of the content that readers may see. The content of the last line belongs to the ending.
    private(set) var visible: ReplyPosition
    /// The end of the content in the rows that the journal has of this reply alone. Memory has all content behind it.
    private(set) var journalled: ReplyPosition
    /// The end of the content in rows or sheets of the journal.
    private(set) var saved: ReplyPosition
    /// The generation of the oldest sheet that is needed for the content between `journalled` and `saved`.
    private var oldestSheet: Int32 = 0
    private var slot = SheetSlot()
    /// The flush of the journal that includes content of the reply.
    private var flush: Flush?
    /// The end of the write of rows that lost its confirmation. The journal may have it.
    private var unconfirmed: ReplyPosition?

    /// The form in which content is journalled.
    enum JournalForm {
        /// A piece of a row that has content of many replies. The content stays in memory.
        case sheet
        /// Rows of the reply alone. The content need not stay in memory, and other processes can read it.
        case rows
    }

    /// A flush of the journal that is under way.
    private enum Flush {
        case rows
        /// - Parameter repeats: whether the sheet has all content that is not in rows.
        case sheet(repeats: Bool)
    }

    init(attempt: Int) {
        self.attempt = attempt
        visible = ReplyPosition(attempt: attempt)
        journalled = visible
        saved = visible
    }

    /// The end of all content.
    var end: ReplyPosition {
        ReplyPosition(
            attempt: attempt, text: text.count, thinking: thinking.count, toolCalls: toolCalls.count)
    }

    /// The bytes that are not in the journal.
    var unjournalled: Int { end.total - saved.total }

    /// Whether a flush of the journal includes content of the reply.
    var isBeingJournalled: Bool { flush != nil }

    /// Whether a flush of the journal includes rows of the reply.
    var isBeingJournalledInRows: Bool { if case .rows = flush { true } else { false } }

    /// Whether the content in memory is so large that the next flush moves it to rows of the reply. A write of rows without confirmation
    /// must be repeated as rows.
    var isTooLargeForSheets: Bool { end.total - journalled.total > Self.kept || unconfirmed != nil }

    /// Whether sheets before a generation have content that later ones lack.
    func isBehind(_ generation: Int32) -> Bool { saved.total > journalled.total && oldestSheet < generation }

    /// The bytes that the next flush writes.
    func pending(in form: JournalForm, generation: Int32) -> Int {
        form == .rows || isBehind(generation) ? end.total - journalled.total : unjournalled
    }

    /// Appends the content of a run. The content of the last line stays invisible until the reply has ended.
    ///
    /// - Parameter textEnds: gets the bytes of text after each token of the run.
    mutating func append(_ lines: LineRun, textEnds: inout InlineArray<64, Int>) {
        if let fields = lines.single {
            append(lines.bytes, fields)
        } else {
            text.append(textOf: lines, ends: &textEnds)
            visible.text = text.count
        }
    }

    private mutating func append(_ line: Span<UInt8>, _ fields: AnswerLine) {
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

    /// Makes all content visible, because the reply has ended.
    mutating func showAll() {
        visible = end
    }

    /// The visible content from a position on; `nil` if it is no longer in memory.
    ///
    /// An unknown position yields a page from the beginning.
    func page(from position: ReplyPosition) -> ReplyPage? {
        let start = visible.covers(position) ? position : ReplyPosition(attempt: attempt)
        return page(from: start, to: visible)
    }

    /// The content that is not in rows of the journal.
    var rest: ReplyPage { page(from: journalled, to: end) ?? ReplyPage(start: journalled) }

    /// Appends the content that is not in rows of the journal yet to `batch`, and returns its end. `journalled` or `notJournalled`
    /// must follow.
    ///
    /// After a lost confirmation the batch repeats the same content, without later additions. So the store cuts it into the same
    /// rows, and both tries produce each row once.
    mutating func journal(as turn: Turn, _ id: ReplyID, on batch: any JournalBatch) -> ReplyPosition {
        flush = .rows
        let end = unconfirmed ?? end
        batch.append(
            turn: turn, id: id, from: journalled, text: text.span(journalled.text..<end.text),
            thinking: thinking.span(journalled.thinking..<end.thinking),
            toolCalls: toolCalls.span(journalled.toolCalls..<end.toolCalls))
        return end
    }

    /// Appends the content that is not in the journal yet to the sheet of `batch`, and returns its end; all content that is not in rows,
    /// if only older sheets have it. `journalled` or `notJournalled` must follow.
    mutating func journalOnSheet(
        as turn: Turn, _ id: ReplyID, on batch: any JournalBatch, generation: Int32
    ) -> ReplyPosition {
        let repeats = isBehind(generation) || saved == journalled
        flush = .sheet(repeats: repeats)
        let (start, end) = (repeats ? journalled : saved, end)
        var slot = repeats ? SheetSlot() : slot
        defer { self.slot = slot }
        batch.appendToSheet(
            turn: turn, id: id, from: start, slot: &slot, generation: generation,
            text: text.span(start.text..<end.text), thinking: thinking.span(start.thinking..<end.thinking),
            toolCalls: toolCalls.span(start.toolCalls..<end.toolCalls))
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

    /// Records that all content up to a position is in the journal, and discards the part that memory need not keep.
    ///
    /// - Parameter generation: the generation of the sheet that was written.
    mutating func journalled(to position: ReplyPosition, in generation: Int32 = 0) {
        // Without a flush the content is that of a later attempt.
        guard let flush else { return }
        self.flush = nil
        if case .sheet(let repeats) = flush {
            saved = position
            if repeats {
                oldestSheet = generation
                slot.wasOpened(in: generation)
            }
            return
        }
        unconfirmed = nil
        journalled = position
        if !saved.covers(position) {
            saved = position
        }
        text.discard(before: position.text, keeping: Self.kept)
        thinking.discard(before: position.thinking, keeping: Self.kept)
        toolCalls.discard(before: position.toolCalls, keeping: Self.kept)
    }

    /// Records that the journal may lack the content up to a position.
    mutating func notJournalled(to position: ReplyPosition) {
        guard let flush else { return }
        self.flush = nil
        if case .sheet = flush {
            // The sheet that has opened the slot may not exist.
            slot = SheetSlot()
        } else {
            unconfirmed = position
        }
    }
}
