import ChatterdBasics

/// The conversations that feeds of this process follow, and the calls that wake those feeds. From any thread.
public final class ConversationSignals: Sendable {
    /// The calls by conversation, then by shard.
    private let wakes = Lock<[ExactText: [Int: @Sendable () -> Void]]>([:])

    /// Creates an empty list.
    public init() {}

    /// Has `wake` called after each change of a conversation that this process makes. Replaces an earlier call of the shard.
    public func follow(_ appID: String, onShard shard: Int, wake: @escaping @Sendable () -> Void) {
        wakes.withLock { $0[ExactText(appID), default: [:]][shard] = wake }
    }

    /// Ends the calls of a shard.
    public func unfollow(_ appID: String, onShard shard: Int) {
        let appID = ExactText(appID)
        wakes.withLock { wakes in
            wakes[appID]?[shard] = nil
            if wakes[appID]?.isEmpty == true { wakes[appID] = nil }
        }
    }

    /// Wakes the feeds of a conversation that may have changed.
    public func changed(_ appID: String) {
        let found = wakes.withLock { $0[ExactText(appID)] }
        guard let found else { return }
        for wake in found.values {
            wake()
        }
    }
}
