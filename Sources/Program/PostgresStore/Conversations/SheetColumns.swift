import ChatterdBasics
import ChatterdPostgres
import ChatterdRelay

/// A sheet of the journal, as one array for each column.
struct SheetColumns {
    /// The slots that the sheet opens.
    private(set) var opened = ParameterArray()
    private(set) var replies = ParameterArray()
    private(set) var attempts = ParameterArray()
    private(set) var parts = ParameterArray()
    private(set) var others = ParameterArray()
    /// The slots of the pieces.
    private(set) var slots = ParameterArray()
    private(set) var starts = ParameterArray()
    private(set) var texts = ParameterArray()
    /// The size of the texts, in bytes.
    private(set) var size = 0

    var isEmpty: Bool { slots.isEmpty }

    /// Opens a slot for a part of a reply.
    mutating func open(_ slot: SheetSlot, for id: ReplyID, attempt: Int) {
        opened.append(slot.number)
        replies.append(high: id.high, low: id.low)
        attempts.append(Int32(truncatingIfNeeded: attempt))
        parts.append(slot.part.rawValue)
        others.append(slot.others)
    }

    /// Adds a piece that begins at a byte of the slot's part.
    mutating func append(_ text: Span<UInt8>, at start: Int, slot: SheetSlot) {
        slots.append(slot.number)
        starts.append(Int32(truncatingIfNeeded: start))
        texts.append(utf8: text)
        size += text.count
    }

    mutating func removeAll() {
        opened.removeAll()
        replies.removeAll()
        attempts.removeAll()
        parts.removeAll()
        others.removeAll()
        slots.removeAll()
        starts.removeAll()
        texts.removeAll()
        size = 0
    }
}
