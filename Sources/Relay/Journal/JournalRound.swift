/// The new content of one shard's replies, on its way to the store. The shard reuses the object for each flush. Confined to its
/// shard, except for the batch while the store writes it.
final class JournalRound: @unchecked Sendable {
    /// The maximum number of replies for which the memory is kept.
    private static let keptCapacity = 16_384

    /// The content.
    let sheet: any JournalSheet
    /// The replies in the batch, each with the end of its content.
    private var rows: [(reply: Reply, end: ReplyPosition)] = []

    init(on sheet: any JournalSheet) {
        self.sheet = sheet
    }

    var isEmpty: Bool { rows.isEmpty }

    /// Adds the new content of a reply.
    func append(_ reply: Reply) {
        rows.append((reply, reply.journal(on: sheet)))
    }

    /// Tells the replies whether their content is written, and removes all content.
    func end(isWritten: Bool) {
        for (reply, end) in rows {
            reply.journalled(to: end, isWritten: isWritten)
        }
        rows.removeAll(keepingCapacity: rows.capacity <= Self.keptCapacity)
        sheet.removeAll()
    }
}
