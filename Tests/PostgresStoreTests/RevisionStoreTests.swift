import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore

/// The revisions of conversations, and the order of the row locks behind them.
@Suite(.timeLimit(.minutes(30))) struct RevisionStoreTests {
    @Test func eachChangeHasItsRevision() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let first = try await store.exchange("a", "1")
            let second = try await store.open("b", "c")
            _ = try await store.journal([second.entry("te")])
            try await store.closeTurn(second.turn, with: second.closing("xt", behind: ReplyPosition(text: 2)))
            let other = try await store.openAlternative(
                to: try await store.record(second), as: .random(), model: nil, onInterrupt: .close)
            #expect(try await store.settleTurn(other.turn, isAbandonedHere: true, closesRegenerated: false))
            try await store.choose(try await store.record(first))
            let named = try await store.open("d", parent: .reply(first.id))
            #expect(named.turn.number == 9)
            #expect(
                try await processes.sql("SELECT seq, opened, closed FROM chatts ORDER BY seq") == [
                    ["1", "1", "<null>"], ["2", "1", "2"], ["3", "3", "<null>"], ["4", "3", "<null>"], ["5", "3", "4"],
                    ["6", "5", "6"], ["7", "7", "<null>"], ["8", "8", "<null>"], ["9", "8", "<null>"],
                ])
            #expect(try await revision(processes) == 8)
        }
    }

    @Test func statementWithoutEffectCountsNoChange() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let one = try await store.exchange("a", "1")
            // Repeated, of another process, of another reply.
            try await store.closeTurn(one.turn, with: one.closing("1"))
            _ = await relayCode { try await processes.second.closeTurn(one.turn, with: one.closing("2")) }
            _ = try await store.settleTurn(one.turn, isAbandonedHere: true, closesRegenerated: true)
            try await store.choose(try await store.record(one))
            _ = await relayCode { _ = try await store.open("x", parent: .reply(.random())) }
            #expect(try await revision(processes) == 2)
            #expect(try await processes.sql("SELECT count(*) FROM chatterd_conversations") == [["1"]])
        }
    }

    @Test func replacedConversationKeepsItsRowAndItsRevisions() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            try await store.exchange("a", "1")
            try await store.replaceConversation(
                "app", with: ["s", "t"].map { ModelMessage(role: "system", content: $0) })
            #expect(
                try await processes.sql("SELECT seq, opened FROM chatts ORDER BY seq") == [["3", "3"], ["4", "3"]])
            #expect(try await revision(processes) == 3)
        }
    }

    @Test func ownerOfARowIsThePrefixOfItsKey() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let person = Owner(app: "app", person: "p")
            for key in [
                ConversationKey(Owner(app: "app")), ConversationKey(Owner(app: "app"), name: "trip"),
                ConversationKey(person), ConversationKey(person, name: "trip"),
            ] {
                try await store.exchange("a", "1", in: key)
            }
            #expect(
                try await processes.sql(
                    "SELECT translate(owner, E'\\x1f', '|') FROM chatterd_conversations ORDER BY appid")
                    == [["app||"], ["app||"], ["app|p|"], ["app|p|"]])
        }
    }

    @Test func interruptedRepliesOfAConversationGetSuccessiveRevisions() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            for conversation: ConversationKey in ["a", "b"] {
                for _ in 0..<3 {
                    _ = try await store.open("p", in: conversation)
                }
            }
            try await processes.kill(store, isNoticed: true)
            #expect(try await processes.pool.run(SettlementStatements.settleAbandoned(limit: 100)).affectedRows == 6)
            for conversation: ConversationKey in ["a", "b"] {
                #expect(
                    try await processes.sql(
                        "SELECT closed FROM chatts WHERE appid = '\(conversation.text)' AND closed IS NOT NULL ORDER BY seq"
                    )
                        == [["4"], ["5"], ["6"]])
                #expect(try await revision(processes, of: conversation) == 6)
            }
        }
    }

    /// A process of an earlier version has no column and no row of a conversation.
    @Test func rowsOfAnEarlierVersionBreakNothing() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let forget = "DELETE FROM chatterd_conversations; UPDATE chatts SET opened = NULL, closed = NULL"
            let first = try await store.open("a")
            try await processes.sql(forget)
            try await store.closeTurn(first.turn, with: first.closing("1"))
            #expect(try await store.record(first).state == .complete)
            let second = try await store.open("b")
            _ = try await store.journal([second.entry("2")])
            try await processes.sql(forget)
            try await store.closeTurn(second.turn, with: second.closing("", behind: ReplyPosition(text: 1)))
            let third = try await store.open("c")
            try await processes.sql(forget)
            try await processes.kill(store, isNoticed: true)
            _ = try await processes.pool.run(SettlementStatements.settleAbandoned(limit: 100))
            #expect(try await store.record(third).state == .interrupted)
            #expect(try await processes.sql("SELECT count(*) FROM chatterd_conversations") == [["0"]])
            try await processes.second.choose(try await store.record(first))
            #expect(try await revision(processes) == 1)
            try await processes.sql("DELETE FROM chatterd_conversations")
            try await processes.second.deleteConversation("app")
            #expect(try await processes.rowCounts().isEmpty)
        }
    }

    @Test func concurrentPromptsGetRevisionsInTheOrderOfTheirCommits() async throws {
        try await StoreProcesses.run { processes in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<40 {
                    group.addTask {
                        let store = processes.stores[index % 2]
                        let opened = try await store.open("p")
                        try await store.closeTurn(opened.turn, with: opened.closing("a"))
                    }
                }
                // A reader that continues at the greatest revision that it has seen misses no change.
                group.addTask {
                    var seen: Set<String> = []
                    var last = "0"
                    while seen.count < 80 {
                        let found = try await processes.sql(
                            """
                            SELECT r FROM (SELECT DISTINCT opened AS r FROM chatts UNION SELECT closed FROM chatts) AS e
                            WHERE r > \(last) ORDER BY r
                            """)
                        seen.formUnion(found.map { $0[0] })
                        last = found.last?[0] ?? last
                    }
                    #expect(seen == Set((1...80).map(String.init)))
                }
                try await group.waitForAll()
            }
            #expect(try await revision(processes) == 80)
        }
    }

    @Test func withdrawnFirstPromptLeavesNoConversation() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let opened = try await store.open("p")
            #expect(try await store.withdraw(opened.id, in: "app"))
            #expect(try await processes.rowCounts().isEmpty)
            // A conversation that was created without a prompt stays.
            let key = ConversationKey(Owner(app: "app"))
            _ = try await ConversationCatalogue(pool: processes.pool, readers: processes.pool)
                .create(key, title: "t", messages: [])
            #expect(try await !store.withdraw(.random(), in: "app"))
            let next = try await store.open("p")
            #expect(try await store.withdraw(next.id, in: "app"))
            #expect(try await processes.rowCounts() == ["chatterd_conversations": 1])
        }
    }

    /// Each statement that changes a conversation waits for its row before it locks a message.
    @Test(arguments: Change.allCases)
    func rowOfTheConversationIsLockedFirst(_ change: Change) async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let done = try await store.exchange("a", "1")
            let running = try await store.open("b")
            let long = try await store.open("c")
            _ = try await store.journal([long.entry("text")])
            // Its name is in the query of the server's view, where the test finds it.
            let holder = Task {
                try await processes.sql(
                    """
                    BEGIN; SELECT FROM chatterd_conversations WHERE appid = 'app' FOR UPDATE;
                    SELECT pg_sleep(3600)
                    """)
            }
            let sleeping =
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"
            let pid = try await first(sleeping, of: processes)
            let changing = Task(executorPreference: processes.pool.shard) {
                try await change.run(store, done: done, running: running, long: long)
            }
            let waiting = """
                SELECT pid FROM pg_stat_activity
                WHERE datname = current_database() AND \(pid) = ANY (pg_blocking_pids(pid))
                """
            _ = try await first(waiting, of: processes)
            #expect(
                try await processes.sql("SELECT seq FROM chatts ORDER BY seq FOR UPDATE SKIP LOCKED").count == 6,
                "\(change) holds the lock of a message while it waits")
            try await processes.sql("SELECT pg_terminate_backend(\(pid))")
            _ = try? await holder.value
            try await changing.value
        }
    }

    enum Change: CaseIterable {
        case open, openNamed, alternative, choose, replace, close, closeJournalled, settle, delete, withdraw

        func run(
            _ store: PostgresConversationStore, done: StoredTurn, running: StoredTurn, long: StoredTurn
        ) async throws {
            switch self {
            case .open: _ = try await store.open("d")
            case .openNamed: _ = try await store.open("d", parent: .reply(done.id))
            case .alternative:
                _ = try await store.openAlternative(
                    to: try await store.record(done), as: .random(), model: nil, onInterrupt: .close)
            case .choose: try await store.choose(try await store.record(done))
            case .replace:
                try await store.replaceConversation("app", with: [ModelMessage(role: "user", content: "x")])
            case .close: try await store.closeTurn(running.turn, with: running.closing("2"))
            case .closeJournalled:
                try await store.closeTurn(long.turn, with: long.closing("3", behind: ReplyPosition(text: 4)))
            case .settle:
                _ = try await store.settleTurn(running.turn, isAbandonedHere: true, closesRegenerated: true)
            case .delete: try await store.deleteConversation("app")
            case .withdraw: _ = try await store.withdraw(long.id, in: "app")
            }
        }
    }

    @Test func housekeepingSkipsAConversationThatIsBeingChanged() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let (busy, free) = (try await store.open("p", in: "a"), try await store.open("p", in: "b"))
            try await processes.kill(store, isNoticed: true)
            let holder = Task {
                try await processes.sql(
                    """
                    BEGIN; SELECT FROM chatterd_conversations WHERE appid = 'a' FOR UPDATE;
                    SELECT pg_sleep(3600)
                    """)
            }
            let sleeping =
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"
            let pid = try await first(sleeping, of: processes)
            #expect(try await processes.pool.run(SettlementStatements.settleAbandoned(limit: 100)).affectedRows == 1)
            #expect(try await store.record(free).state == .interrupted)
            #expect(try await store.record(busy).state == nil)
            try await processes.sql("SELECT pg_terminate_backend(\(pid))")
            _ = try? await holder.value
            #expect(try await processes.pool.run(SettlementStatements.settleAbandoned(limit: 100)).affectedRows == 1)
            #expect(try await store.record(busy).state == .interrupted)
        }
    }

    @Test func retentionRemovesOldConversationsWithoutMessages() async throws {
        try await StoreProcesses.run { processes in
            try await processes.first.exchange("a", "1", in: "full")
            try await processes.sql(
                """
                INSERT INTO chatterd_conversations (appid, owner) VALUES ('old', 'old'), ('new', 'new');
                UPDATE chatterd_conversations SET updated_at = now() - interval '2 hours' WHERE appid <> 'new'
                """)
            let examined = try await processes.pool.run(
                RetentionStatements.expireEmpty(after: "", limit: 10, age: .seconds(3_600)))
            #expect(examined.first?.count == 3 && examined.first?.last == "old")
            #expect(
                try await processes.sql("SELECT appid FROM chatterd_conversations ORDER BY appid") == [
                    ["full"], ["new"],
                ])
        }
    }

    private func revision(_ processes: StoreProcesses, of conversation: ConversationKey = "app") async throws -> Int? {
        let rows = try await processes.sql(
            "SELECT revision FROM chatterd_conversations WHERE appid = '\(conversation.text)'")
        return rows.first.flatMap { Int($0[0]) }
    }

    /// The first value of a query that finds a row sooner or later.
    private func first(_ query: String, of processes: StoreProcesses) async throws -> String {
        while true {
            if let row = try await processes.sql(query).first { return row[0] }
        }
    }
}
