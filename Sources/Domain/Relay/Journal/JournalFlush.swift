import ChatterdBasics

/// The new content of one shard's replies, on its way to the store. The shard reuses the object for each flush. Confined to its
/// shard, except for the batch: the shard does not use it while the store writes it.
final class JournalFlush {
    /// The maximum number of replies for which the memory is kept.
    private static let keptCapacity = 16_384

    /// The content.
    let batch: any JournalBatch
    /// The replies in the batch, each with the end of its content.
    private var rows: [(reply: Reply, end: ReplyPosition)] = []
    /// Whether owners are looked up.
    private var hasChecks = false
    /// Whether the text of all replies of the shard is in sheets of the round's generation, or in rows of its own.
    var isCarried = true

    init(on batch: any JournalBatch) {
        self.batch = batch
    }

    var isEmpty: Bool { rows.isEmpty && !hasChecks }

    /// The number of replies in the batch.
    var count: Int { rows.count }

    /// Adds the new content of a reply.
    func append(_ reply: Reply, generation: Int32, at now: Instant) {
        rows.append((reply, reply.journal(on: batch, generation: generation, at: now)))
    }

    /// Has the store look up the owners of replies for which it is time, up to a number.
    func checkOwners(of replies: some Sequence<Reply>, atMost limit: Int, at now: Instant) {
        var left = limit
        for reply in replies where left > 0 && reply.needsOwnerCheck(at: now) {
            reply.checkOwner(on: batch, at: now)
            hasChecks = true
            left -= 1
        }
    }

    /// Tells the replies whether their content is written, and removes all content.
    ///
    /// - Parameter generation: the generation of the sheet that was written; `nil` if the flush failed.
    func end(writtenIn generation: Int32?) {
        for (reply, end) in rows {
            reply.journalled(to: end, in: generation)
        }
        hasChecks = false
        rows.removeAll(keepingCapacity: rows.capacity <= Self.keptCapacity)
        batch.removeAll()
    }
}
