import ChatterdRelay

/// The next piece of a feed.
public struct FeedPage: Sendable {
    /// The next step of the feed.
    public let step: FeedStep
    /// The position behind the page; `nil` if the conversation does not exist.
    public let position: FeedPosition?
    /// The events in their order; empty unless the step is `events`.
    public let events: [FeedEvent]
    /// The state with which the reader begins; `nil` unless the step is `start` or `reset`.
    public let state: FeedState?
    /// Whether further events are stored.
    public let hasMore: Bool
}
