/// Receives a reply. All calls are on the listener's shard.
public protocol ReplyListener: AnyObject {
    /// Receives lines in Ollama's format.
    ///
    /// - Returns: whether the listener can receive more; if not, it calls `ReplySubscription.listenerIsReady` later.
    func receive(_ lines: PositionedLines) -> Bool
    /// The reply waits for a slot of its model server, at this position of the queue.
    func isQueued(at position: QueuePosition)
    /// The reply restarts at `position`. The content so far is invalid.
    func reset(to position: ReplyPosition)
    /// Receives the last event. Called once, as the last call.
    func end(_ ending: ReplyEnding, at position: ReplyPosition)
    /// The rest of the reply cannot be read. Called once, instead of `end`.
    func fail(_ error: RelayError)
}
