/// Whoever reads a reply; all calls come on its shard.
public protocol ReplyReader: AnyObject {
    /// One line of Ollama's shape, and the position after it.
    ///
    /// - Returns: whether it can take more; if not, it calls `ReplySubscription.readerCanTakeMore` later.
    func read(line: Span<UInt8>, to position: ReplyPosition) -> Bool
    /// The reply waits for a slot of its model server, at this place.
    func wait(at place: QueuePlace)
    /// What was read so far counts no more: the reply begins again at `position`.
    func reset(to position: ReplyPosition)
    /// The last event; nothing comes after it. Called once.
    func end(_ ending: ReplyEnding, at position: ReplyPosition)
    /// The reply cannot be read on. Called once, in place of `end`.
    func fail(_ error: RelayError)
}
