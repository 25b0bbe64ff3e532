/// The subscriptions that are attached to a source. Confined to its shard.
struct ReplyAudience {
    /// All of them. Whoever goes over them may let some go meanwhile; those are not live any more.
    private(set) var members: [ReplySubscription] = []
    /// Where the reply waits for a slot of a model server, if it does.
    var queuePlace: QueuePlace?

    /// Whether nobody is attached.
    var isEmpty: Bool { members.isEmpty }

    /// Takes a subscription in; it must not be in an audience.
    mutating func insert(_ subscription: ReplySubscription) {
        precondition(subscription.place == nil, "a subscription was attached twice")
        subscription.place = members.count
        members.append(subscription)
    }

    /// Lets a subscription go, if it is there.
    mutating func remove(_ subscription: ReplySubscription) {
        guard let place = subscription.place else { return }
        subscription.place = nil
        let last = members.removeLast()
        if last !== subscription {
            members[place] = last
            last.place = place
        }
    }
}
