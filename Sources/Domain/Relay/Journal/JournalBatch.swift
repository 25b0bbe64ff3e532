/// The content of replies for one flush, in the store's own form.
///
/// A shard fills its batch, the store writes the batches of all shards, and the shard clears its batch. The batch is confined to its
/// shard, and to the journal's shard while the store writes it.
public protocol JournalBatch: AnyObject {
    /// Adds the content of a reply from `start` on, for rows of this reply alone. The store writes them only if this process owns the
    /// reply.
    func append(
        turn: Turn, id: ReplyID, from start: ReplyPosition, text: Span<UInt8>, thinking: Span<UInt8>,
        toolCalls: Span<UInt8>)

    /// Adds the content of a reply from `start` on to the sheet, which has the content of many replies.
    ///
    /// - Parameters:
    ///   - slot: the slot of the reply's last piece. The batch replaces it when it opens another one.
    ///   - generation: the newest generation of sheets that the process knows.
    func appendToSheet(
        turn: Turn, id: ReplyID, from start: ReplyPosition, slot: inout SheetSlot, generation: Int32,
        text: Span<UInt8>, thinking: Span<UInt8>, toolCalls: Span<UInt8>)

    /// Has the store look up whether this process still owns a reply. If it does not, the outcome has `gone`.
    func checkOwner(of turn: Turn, id: ReplyID, attempt: Int)

    /// Removes all content.
    func removeAll()
}

/// The outcome of a flush of the journal.
public struct JournalOutcome: Sendable, Equatable {
    /// The signals of other processes, and `gone` for replies that this process does not own any more.
    public var signals: [ReplySignal]
    /// The generation of the sheets that are written now. When it rises, the process repeats the text of its running replies in the new
    /// sheets, and then releases the older ones.
    public var generation: Int32

    public init(signals: [ReplySignal] = [], generation: Int32 = 0) {
        self.signals = signals
        self.generation = generation
    }
}
