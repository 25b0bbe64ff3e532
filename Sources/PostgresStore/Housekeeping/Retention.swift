import ChatterdBasics
import ChatterdPostgres
import ChatterdRelay
import ChatterdSockets

/// Removes conversations to which nothing was added for long: a stretch of them at a time. Confined to its shard.
final class Retention: @unchecked Sendable {
    /// Conversations that are looked at, and removed, at a time.
    private static let lookLimit = 200
    private static let removalLimit = 50
    /// The longest rest after all have been looked at.
    private static let longestRest = Duration.seconds(60)

    private let age: Duration
    private let store: PostgresConversationStore
    private var last = ""
    private var restsUntil = Instant.distantPast

    init(_ age: Duration, store: PostgresConversationStore) {
        self.age = age
        self.store = store
    }

    /// Looks at the next conversations, and removes those that are too old; ends early when it is not to go on.
    func expire(goesOn: () -> Bool) async throws {
        let shard = store.pool.shard
        guard shard.now >= restsUntil else { return }
        let found = try await store.pool.run(
            Query(
                RetentionStatements.nextConversations, .text(last), .int8(Self.lookLimit), .int8(age.microseconds)))
        var removed = 0
        for row in 0..<found.rowCount {
            guard removed < Self.removalLimit, goesOn(), let appID = found.string(row, 0) else { return }
            if found.bool(row, 1) == true {
                try await store.expireConversation(appID: appID, after: age, goesOn: goesOn)
                removed += 1
            }
            last = appID
        }
        if found.rowCount < Self.lookLimit {
            last = ""
            let rest = min(Self.longestRest, age / 4)
            restsUntil = shard.now + rest
        }
    }
}
