import ChatterdBasics
import ChatterdIdentity

/// The conversations that feeds of this process follow, and the calls that wake those feeds. From any thread.
public final class ConversationSignals: Sendable {
    /// The calls by conversation, then by shard.
    private let wakes = Lock<[ConversationKey: [Int: @Sendable () -> Void]]>([:])

    /// Creates an empty list.
    public init() {}

    /// Has `wake` called after each change of a conversation that this process makes. Replaces an earlier call of the shard.
    public func follow(_ conversation: ConversationKey, onShard shard: Int, wake: @escaping @Sendable () -> Void) {
        wakes.withLock { $0[conversation, default: [:]][shard] = wake }
    }

    /// Ends the calls of a shard.
    public func unfollow(_ conversation: ConversationKey, onShard shard: Int) {
        wakes.withLock { wakes in
            wakes[conversation]?[shard] = nil
            if wakes[conversation]?.isEmpty == true { wakes[conversation] = nil }
        }
    }

    /// Wakes the feeds of a conversation that may have changed.
    public func changed(_ conversation: ConversationKey) {
        let found = wakes.withLock { $0[conversation] }
        guard let found else { return }
        for wake in found.values {
            wake()
        }
    }
}
