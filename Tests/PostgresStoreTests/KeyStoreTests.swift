import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore

/// Requests with idempotency keys.
@Suite(.timeLimit(.minutes(30))) struct KeyStoreTests {
    @Test func repeatedRequestFindsItsReply() async throws {
        try await StoreProcesses.run { processes in
            let first = Self.opening()
            guard case .opened = try await processes.first.openTurn(first) else { throw TestFailure("not opened") }
            guard case .known(let id) = try await processes.second.openTurn(Self.opening()) else {
                throw TestFailure("not known")
            }
            #expect(id == first.id)
            #expect(try await processes.rowCounts() == ["chatts": 2, "chatterd_keys": 1])
        }
    }

    @Test func keyWithAnotherBodyIsRefused() async throws {
        try await StoreProcesses.run { processes in
            _ = try await processes.first.openTurn(Self.opening())
            #expect(
                await relayCode { _ = try await processes.first.openTurn(Self.opening(digest: [2])) }
                    == .idempotencyKeyReused)
            // Another conversation has its own keys.
            guard case .opened = try await processes.first.openTurn(Self.opening(in: "other")) else {
                throw TestFailure("not opened")
            }
        }
    }

    @Test(arguments: [2, 50])
    func onlyOneOfConcurrentRequestsIsStored(count: Int) async throws {
        try await StoreProcesses.run { processes in
            let outcomes = try await withThrowingTaskGroup(of: (ReplyID, Bool).self) { group in
                for index in 0..<count {
                    group.addTask {
                        let opening = Self.opening()
                        switch try await processes.stores[index % 2].openTurn(opening) {
                        case .opened: return (opening.id, true)
                        case .known(let id): return (id, false)
                        }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.count { $0.1 } == 1)
            #expect(Set(outcomes.map(\.0)).count == 1)
            #expect(try await processes.rowCounts() == ["chatts": 2, "chatterd_keys": 1])
        }
    }

    @Test func keyExpires() async throws {
        try await StoreProcesses.run { processes in
            let first = Self.opening()
            _ = try await processes.first.openTurn(first)
            try await processes.sql("UPDATE chatterd_keys SET expires_at = now() - interval '1 s'")
            for digest: [UInt8] in [[1], [2]] {
                let key = IdempotencyKey(text: "key", digest: digest)
                #expect(try await processes.first.knownReply(in: "app", key: key) == nil)
            }
            let second = Self.opening(digest: [2])
            guard case .opened = try await processes.first.openTurn(second) else { throw TestFailure("not opened") }
            guard case .known(let id) = try await processes.first.openTurn(Self.opening(digest: [2])) else {
                throw TestFailure("not known")
            }
            #expect(id == second.id)
        }
    }

    @Test func keyOfADeletedReplyIsFree() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            _ = try await store.openTurn(Self.opening())
            // The process that removed the conversation died before it removed the keys.
            try await processes.sql("DELETE FROM chatts")
            for digest: [UInt8] in [[1], [2]] {
                let key = IdempotencyKey(text: "key", digest: digest)
                #expect(try await store.knownReply(in: "app", key: key) == nil)
            }
            let second = Self.opening(digest: [2])
            guard case .opened = try await store.openTurn(second) else { throw TestFailure("not opened") }
            #expect(
                try await store.knownReply(in: "app", key: IdempotencyKey(text: "key", digest: [2])) == second.id)
            #expect(try await processes.rowCounts() == ["chatts": 2, "chatterd_keys": 1])
        }
    }

    @Test func requestWithAKeyCanFollowAnyReply() async throws {
        try await StoreProcesses.run { processes in
            let one = try await processes.first.exchange("a", "1")
            try await processes.first.exchange("b", "2")
            var opening = Self.opening()
            opening.parent = .reply(one.id)
            guard case .opened(_, let history, _) = try await processes.first.openTurn(opening) else {
                throw TestFailure("not opened")
            }
            #expect(history.said == ["user a", "assistant 1", "user p"])
        }
    }

    /// Another transaction has the first key, and takes the second one while the query waits for the first.
    @Test func goneKeysAreLockedInTheirOrder() async throws {
        try await StoreProcesses.run(count: 1) { processes in
            try await Self.insertKeys(of: ["app", "app"], in: processes)
            let locks = Task { try await processes.sql(Self.locks(while: "true")) }
            try await Self.waitForLocks(in: processes)
            try await processes.first.sweep("app")
            _ = try await locks.value
            #expect(try await processes.sql("SELECT key FROM chatterd_keys").isEmpty)
        }
    }

    @Test func groupLocksItsKeysInTheirOrder() async throws {
        try await StoreProcesses.run(count: 1) { processes in
            for attempt in 0... {
                let conversations = ["b", "a"].map { "\($0) \(attempt)" }
                try await Self.insertKeys(of: conversations, in: processes)
                let locks = Task { try await processes.sql(Self.locks(while: "true")) }
                try await Self.waitForLocks(in: processes)
                let turns = zip(conversations, ["b", "a"]).map { conversation, key in
                    var turn = Self.opening(in: ConversationKey(parsing: conversation))
                    turn.key = IdempotencyKey(text: key, digest: [2])
                    return turn
                }
                let query = GroupStatements.open(
                    turns, sizes: [1, 1], owner: processes.first.lease.id, keyLifetime: .seconds(60), limit: 1 << 30)
                do {
                    let opened = try await processes.pool.run(query)
                    #expect(opened.count == 2)
                } catch {
                    // The machine may stand still for longer than a group waits for a lock.
                    try #require((error as? PostgresError)?.code == .timedOut)
                    try await processes.sql("SELECT pg_terminate_backend(pid) \(Self.holder)")
                    _ = await locks.result
                    try await processes.sql("SET chatterd.owner = '*'; DELETE FROM chatterd_keys")
                    continue
                }
                _ = try await locks.value
                break
            }
        }
    }

    @Test func expiryWaitsForNoKey() async throws {
        try await StoreProcesses.run(count: 1) { processes in
            try await Self.insertKeys(of: ["app", "app"], in: processes)
            let keys = "SELECT key FROM chatterd_keys"
            let locks = Task {
                try await processes.sql(Self.locks(while: "EXISTS (\(keys) WHERE key = 'b')"))
            }
            try await Self.waitForLocks(in: processes)
            _ = try await processes.pool.run(RetentionStatements.expireKeys(limit: 10))
            _ = try await locks.value
            #expect(try await processes.sql(keys) == [["a"]])
        }
    }

    /// The reply is removed between the statement that finds its key in use and the one that looks for the reply: the charge waits.
    @Test func keyOfAReplyThatGoesMeanwhileIsFree() async throws {
        try await StoreProcesses.run(count: 1) { processes in
            var opening = Self.opening()
            opening.meter = UsageStage.meter()
            guard case .opened = try await processes.first.openTurn(opening) else { throw TestFailure("not opened") }
            let removal = Task {
                try await processes.sql(
                    """
                    SET chatterd.owner = '*';
                    DO $$ BEGIN
                        LOCK TABLE chatterd_charges;
                        PERFORM pg_advisory_xact_lock(1);
                        \(Self.wait(while: "true"))
                        DELETE FROM chatts;
                        DELETE FROM chatterd_keys;
                    END $$
                    """)
            }
            try await Self.waitForLocks(in: processes)
            opening.id = .random()
            guard case .opened = try await processes.first.openTurn(opening) else { throw TestFailure("not opened") }
            _ = try await removal.value
            #expect(try await processes.sql("SELECT reply FROM chatterd_keys") == [[opening.id.description]])
        }
    }

    /// Adds the keys `b` and `a`, which have expired and whose replies are gone.
    private static func insertKeys(of conversations: [String], in processes: StoreProcesses) async throws {
        for (conversation, key) in zip(conversations, ["b", "a"]) {
            try await processes.sql(
                """
                SET chatterd.owner = '*';
                INSERT INTO chatterd_keys (appid, key, digest, reply, expires_at)
                VALUES ('\(conversation)', '\(key)', '', gen_random_uuid(), now() - interval '1 s')
                """)
        }
    }

    /// SQL that locks the key `a` until a transaction waits for it or a condition is false. It then locks `b`, which no transaction may have.
    private static func locks(while condition: String) -> String {
        """
        SET chatterd.owner = '*';
        DO $$ BEGIN
            PERFORM FROM chatterd_keys WHERE key = 'a' FOR UPDATE;
            PERFORM pg_advisory_xact_lock(1);
            \(wait(while: condition))
            PERFORM FROM chatterd_keys WHERE key = 'b' FOR UPDATE NOWAIT;
        END $$
        """
    }

    /// PL/pgSQL that waits until a transaction waits for a lock, or a condition is false.
    private static func wait(while condition: String) -> String {
        """
        WHILE \(condition) AND NOT EXISTS (
            SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock') LOOP
            PERFORM pg_stat_clear_snapshot();
        END LOOP;
        """
    }

    private static let holder = """
        FROM pg_locks WHERE locktype = 'advisory'
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        """

    private static func waitForLocks(in processes: StoreProcesses) async throws {
        while try await processes.sql("SELECT pid \(holder)").isEmpty {}
    }

    private static func opening(in conversation: ConversationKey = "app", digest: [UInt8] = [1]) -> NewTurn {
        NewTurn(
            conversation: conversation, prompts: [ModelMessage(role: "user", content: "p")], id: .random(), model: "m",
            key: IdempotencyKey(text: "key", digest: digest))
    }
}
