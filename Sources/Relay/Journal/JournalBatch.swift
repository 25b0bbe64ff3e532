/// The content of replies for one statement of the store, in the store's own form.
///
/// A shard fills its batch, the store writes the batches of all shards, and the shard clears its batch. The batch is confined to its
/// shard, and to the journal's shard while the store writes it.
public protocol JournalBatch: AnyObject {
    /// Adds the content of a reply from `start` on.
    func append(
        turn: Turn, id: ReplyID, from start: ReplyPosition, text: Span<UInt8>, thinking: Span<UInt8>,
        toolCalls: Span<UInt8>)

    /// Removes all content.
    func removeAll()
}
