/// The new content of one shard's replies, on its way to the store. The shard reuses the object for each flush. Confined to its
/// shard, except for the batch: the shard does not use it while the store writes it.
final class JournalFlush {
    /// The maximum number of replies for which the memory is kept.
    private static let keptCapacity = 16_384

    /// The content.
    let batch: any JournalBatch
    /// The replies in the batch, each with the end of its content.
    private var rows: [(reply: Reply, end: ReplyPosition)] = []

    init(on batch: any JournalBatch) {
        self.batch = batch
    }

    var isEmpty: Bool { rows.isEmpty }

    /// Adds the new content of a reply.
    func append(_ reply: Reply) {
        rows.append((reply, reply.journal(on: batch)))
    }

    /// Tells the replies whether their content is written, and removes all content.
    func end(isWritten: Bool) {
        for (reply, end) in rows {
            reply.journalled(to: end, isWritten: isWritten)
        }
        rows.removeAll(keepingCapacity: rows.capacity <= Self.keptCapacity)
        batch.removeAll()
    }
}
