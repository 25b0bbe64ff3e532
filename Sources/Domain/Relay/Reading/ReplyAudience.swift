import ChatterdBasics

/// All readers of a reply through one source. Confined to its shard.
struct ReplyAudience {
    /// The subscriptions that keep up.
    private(set) var members = IndexedSet<ReplySubscription>()
    /// The number of subscriptions, with those that catch up.
    var count = 0
    /// The position of the reply in the queue of a model server, while it waits there.
    private(set) var queuePosition: QueuePosition?
    /// The steps of the reply; `nil` as long as it has none.
    private(set) var steps: ReplySteps?
    /// The followers on other shards.
    private(set) var followers: [CrossShardSignal] = []
    /// The time up to which another process counts as a reader.
    private var readElsewhereUntil = Instant(nanoseconds: 0)

    /// Whether no subscription keeps up.
    var isEmpty: Bool { members.isEmpty }

    /// Whether neither this process nor a follower reads the reply.
    var isAbandonedHere: Bool { count == 0 && followers.isEmpty }

    /// Whether one subscription is the only reader of the reply, in this process and in all others.
    func hasOneReader(at now: Instant) -> Bool {
        count == 1 && followers.isEmpty && timeReadElsewhere(at: now) == .zero
    }

    /// The time for which another process still counts as a reader.
    func timeReadElsewhere(at now: Instant) -> Duration { max(readElsewhereUntil - now, .zero) }

    /// Records that another process reads the reply.
    mutating func isReadElsewhere(until time: Instant) {
        readElsewhereUntil = time
    }

    /// Adds a subscription, which must not be in an audience.
    mutating func attach(_ subscription: ReplySubscription) {
        let isNew = members.insert(subscription)
        precondition(isNew, "a subscription was attached twice")
        if let queuePosition {
            subscription.receiveSoon(queuePosition: queuePosition)
        }
        if let steps {
            subscription.receiveSoon(steps)
        }
    }

    /// Removes a subscription that falls behind or leaves.
    mutating func detach(_ subscription: ReplySubscription) {
        members.remove(subscription)
    }

    /// Adds a follower on another shard.
    mutating func add(_ follower: CrossShardSignal) {
        followers.append(follower)
    }

    /// Removes a follower on another shard.
    mutating func remove(_ follower: CrossShardSignal) {
        followers.removeAll { $0 === follower }
    }

    /// Sends a new queue position to the members; `nil` when the reply no longer waits.
    mutating func setQueuePosition(_ position: QueuePosition?) {
        queuePosition = position
        guard let position else { return }
        forEach { $0.receive(queuePosition: position) }
    }

    /// Sends new steps to the members.
    mutating func setSteps(_ steps: ReplySteps) {
        guard steps !== self.steps else { return }
        self.steps = steps
        forEach { $0.receive(steps) }
    }

    /// Calls `body` for each member. Members may leave meanwhile.
    func forEach(_ body: (ReplySubscription) -> Void) {
        for member in members.elements {
            body(member)
        }
    }

    /// Signals the followers on other shards that there is more.
    func signalFollowers() {
        for follower in followers {
            follower.signal()
        }
    }
}
