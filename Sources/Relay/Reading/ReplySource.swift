/// The source of live lines for the subscriptions of a shard: the reply itself on its own shard, a follower elsewhere. Confined to its
/// shard.
///
/// A source counts its subscriptions from their creation to `left`, whether they are attached or behind.
protocol ReplySource: AnyObject {
    /// The end of the content that the source has sent.
    var position: ReplyPosition { get }
    /// Attaches a reader whose position is at or beyond `position`. It receives all later content.
    func attach(_ subscription: ReplySubscription)
    /// Detaches a reader that falls behind. No effect if it is not attached.
    func detach(_ subscription: ReplySubscription)
    /// An attached reader was full, and can receive more.
    func drained(_ subscription: ReplySubscription)
    /// A reader has left, or has received the end; it is already detached. Called once for each subscription.
    func left(_ subscription: ReplySubscription)
    /// Reads a page from a position on, from memory or from the store.
    func page(from position: ReplyPosition) async throws(RelayError) -> ReplyPage
}
