import ChatterdBasics
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay
import ChatterdSockets

/// Removes conversations whose last addition is old, a bounded number at a time. Confined to its shard.
final class Retention {
    /// The number of conversations that one call examines.
    private static let pageLimit = 200
    /// The number of conversations that one call removes.
    private static let removalLimit = 50
    /// The longest pause after all conversations were examined.
    private static let longestPause = Duration.seconds(60)

    private let age: Duration
    private let store: PostgresConversationStore
    /// The key of the last conversation that was examined.
    private var last = ""
    /// The key of the last row of a conversation that was examined for one without messages.
    private var lastRow = ""
    private var pausesUntil = Instant.distantPast

    init(_ age: Duration, store: PostgresConversationStore) {
        self.age = age
        self.store = store
    }

    /// Examines the next conversations, and removes the expired ones. It ends early once `isStopping` returns `true`.
    func expire(isStopping: () -> Bool) async throws {
        let shard = store.pool.shard
        guard shard.now >= pausesUntil else { return }
        try await expireEmpty()
        let found = try await store.pool.run(
            RetentionStatements.nextConversations(after: last, limit: Self.pageLimit, age: age))
        var removed = 0
        for conversation in found {
            guard removed < Self.removalLimit, !isStopping() else { return }
            if conversation.isExpired {
                try await store.expireConversation(conversation.key, after: age, isStopping: isStopping)
                removed += 1
            }
            last = conversation.key.text
        }
        if found.count < Self.pageLimit {
            last = ""
            pausesUntil = shard.now + min(Self.longestPause, age / 4)
        }
    }

    /// Examines the next rows of conversations, and removes old ones of conversations without messages.
    private func expireEmpty() async throws {
        let examined = try await store.pool.run(
            RetentionStatements.expireEmpty(after: lastRow, limit: Self.pageLimit, age: age)
        ).first
        lastRow = examined.flatMap { $0.count == Self.pageLimit ? $0.last : nil } ?? ""
    }
}
