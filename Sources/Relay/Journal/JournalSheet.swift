/// Where it is written down what replies have grown by, in the form in which the store wants it.
///
/// A shard fills its sheet, the store is given the sheets of all shards, then the shard empties it.
public protocol JournalSheet: AnyObject, Sendable {
    /// Writes down what a reply has grown by behind a position.
    func append(
        turn: Turn, id: ReplyID, from start: ReplyPosition, text: Span<UInt8>, thinking: Span<UInt8>,
        toolCalls: Span<UInt8>)

    /// Removes all that is written down.
    func removeAll()
}
