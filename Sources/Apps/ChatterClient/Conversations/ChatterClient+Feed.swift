extension ChatterClient {
    /// The changes of a conversation, in their order, until the iteration ends or the conversation is deleted. A lost connection is
    /// resumed at the last event.
    ///
    /// - Parameters:
    ///   - conversation: its name.
    ///   - position: the id of the last known event; `nil` begins with the state of the conversation.
    public func changes(
        of conversation: String, after position: String? = nil
    ) -> AsyncThrowingStream<ConversationEvent, any Error> {
        stream {
            FeedRun(path: "\(Self.path(of: conversation))/events", after: position, retries: retries)
        }
    }
}
