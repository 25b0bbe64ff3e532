/// Where readers who have kept up hear of a reply: the reply itself on its shard, a follower elsewhere. Confined to its shard.
///
/// A source counts its subscriptions from their making to `left`, whether they are attached or behind.
protocol ReplySource: AnyObject {
    /// How far it has got.
    var position: ReplyPosition { get }
    /// Takes in a reader that stands at `position`, or beyond it; it hears of all that comes from now on.
    func attach(_ subscription: ReplySubscription)
    /// Lets a reader go that falls behind; one that is not attached is fine.
    func detach(_ subscription: ReplySubscription)
    /// A reader that is attached has been full, and can take more.
    func drained(_ subscription: ReplySubscription)
    /// A reader has left, or got all; it is detached already. Called once for each subscription.
    func left(_ subscription: ReplySubscription)
    /// Reads on from a position: from memory, or from the store.
    func page(from position: ReplyPosition) async throws(RelayError) -> ReplyPage
}
