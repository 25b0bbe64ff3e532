import ChatterdBasics
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay
import ChatterdSockets

/// Removes conversations whose last addition is old, a bounded number at a time. Confined to its shard.
final class Retention {
    /// The number of conversations that one statement examines.
    private static let pageLimit = 200
    /// The time after which a call examines no further page. It examines one only after it has removed a conversation.
    private static let timeLimit = Duration.seconds(1)
    /// The longest pause after all conversations were examined.
    private static let longestPause = Duration.seconds(60)

    private let age: Duration
    private let store: PostgresConversationStore
    /// The key of the last conversation that was examined.
    private var last = ""
    /// The key of the last row of a conversation that was examined for one without messages.
    private var lastRow = ""
    private var pausesUntil = Instant.distantPast
    /// How long after its time the last conversation was removed, at most, in the present pass and in the one before it.
    private var lags = (present: Duration.zero, before: Duration.zero)

    init(_ age: Duration, store: PostgresConversationStore) {
        self.age = age
        self.store = store
    }

    /// How long after its time a conversation was removed, at most: in the last pass through all conversations, and since then.
    var lag: Duration { max(lags.present, lags.before) }

    /// Examines the next conversations, and removes the expired ones. It ends early once `isStopping` returns `true`.
    func expire(isStopping: () -> Bool) async throws {
        let shard = store.pool.shard
        guard shard.now >= pausesUntil else { return }
        try await expireEmpty()
        let start = shard.now
        while try await expirePage(isStopping: isStopping), shard.now - start < Self.timeLimit {}
    }

    /// Examines a page of conversations.
    ///
    /// - Returns: whether it has removed any, and further ones follow.
    private func expirePage(isStopping: () -> Bool) async throws -> Bool {
        let found = try await store.pool.run(
            RetentionStatements.nextConversations(after: last, limit: Self.pageLimit, age: age))
        var hasRemoved = false
        for conversation in found {
            guard !isStopping() else { return false }
            if let lag = conversation.lag {
                lags.present = max(lags.present, lag)
                try await store.expireConversation(conversation.key, after: age, isStopping: isStopping)
                hasRemoved = true
            }
            last = conversation.key.text
        }
        guard found.count == Self.pageLimit else {
            last = ""
            pausesUntil = store.pool.shard.now + min(Self.longestPause, age / 4)
            lags = (.zero, lags.present)
            return false
        }
        return hasRemoved
    }

    /// Examines the next rows of conversations, and removes old ones of conversations without messages.
    private func expireEmpty() async throws {
        let examined = try await store.pool.run(
            RetentionStatements.expireEmpty(after: lastRow, limit: Self.pageLimit, age: age)
        ).first
        lastRow = examined.flatMap { $0.count == Self.pageLimit ? $0.last : nil } ?? ""
    }
}
