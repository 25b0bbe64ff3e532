import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore

/// The rows by which running and ended replies are found without an index on their state.
@Suite(.timeLimit(.minutes(30))) struct ReplyFloorTests {
    @Test func endOfAReplyChangesNoIndexedColumn() async throws {
        try await StoreProcesses.run { processes in
            let opened = try await processes.first.open("a")
            func row() async throws -> [String] {
                try await processes.sql(
                    "SELECT c.* FROM chatts r, jsonb_each_text(to_jsonb(r)) AS c (key, value) WHERE turn = seq"
                )
                .map { $0.joined(separator: "=") }
            }
            let before = try await row()
            try await processes.first.closeTurn(opened.turn, with: opened.closing("1", thinking: "t"))
            let changed = Set(try await row()).subtracting(before).compactMap { $0.split(separator: "=").first }
            #expect(changed.contains("state") && changed.contains("closed") && changed.contains("message"))
            let indexes = try await processes.sql(
                "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'chatts'::regclass"
            ).map { $0[0] }
            #expect(indexes.count == 5)
            for index in indexes {
                let words = Set(index.split { !$0.isLetter && $0 != "_" })
                #expect(words.isDisjoint(with: changed), "\(index)")
            }
        }
    }

    /// Makes random changes of one conversation, and compares what the floors find with all rows after each of them.
    @Test(arguments: 0..<8) func floorsFindAllRunningReplies(seed: UInt64) async throws {
        try await StoreProcesses.run { processes in
            var random = SeededGenerator(seed: seed)
            var running: [StoredTurn] = []
            var replies: [StoredTurn] = []
            try await processes.first.exchange("0", "0")
            for step in 0..<120 {
                let store = processes.stores[step % 2]
                switch Int.random(in: 0..<100, using: &random) {
                case ..<45:
                    let opened = try await store.open("a", "b")
                    running.append(opened)
                    replies.append(opened)
                case ..<80:
                    guard let index = running.indices.randomElement(using: &random) else { break }
                    let reply = running.remove(at: index)
                    try await processes.sql(
                        "UPDATE chatts SET holder = '\(store.lease.id)' WHERE id = '\(reply.id)'")
                    try await store.closeTurn(reply.turn, with: reply.closing("1"))
                case ..<86:
                    guard let reply = replies.randomElement(using: &random) else { break }
                    let other = try await store.openAlternative(
                        to: try await store.record(reply), as: .random(), model: "n", onInterrupt: .close)
                    running.append(StoredTurn(turn: other.turn, id: other.id, history: other.history))
                case ..<90:
                    // A process of an earlier version.
                    try await processes.sql("UPDATE chatts SET floor = NULL WHERE seq = (SELECT max(seq) FROM chatts)")
                case ..<94:
                    let opened = try await store.open("gone")
                    #expect(try await store.withdraw(opened.id, in: "app"))
                case ..<97:
                    guard let reply = replies.randomElement(using: &random),
                        !running.contains(where: { $0.id == reply.id })
                    else { break }
                    try await store.choose(try await store.record(reply))
                default:
                    try await store.replaceConversation(
                        "app", with: ["s", "t"].map { ModelMessage(role: "user", content: $0) })
                    (running, replies) = ([], [])
                }
                try await expectFloors(processes)
            }
        }
    }

    private func expectFloors(_ processes: StoreProcesses) async throws {
        let found = Array(try await processes.pool.run(ConversationRowStatements.running(in: "app"))).sorted()
        let all = try await processes.sql("SELECT seq FROM chatts WHERE state = 'streaming' ORDER BY seq")
        #expect(found.map(String.init) == all.map { $0[0] })
        // What ran when a row was added: replies above it in the table that have not ended, or ended at a later revision.
        let wrong = try await processes.sql(
            """
            SELECT f.seq, r.seq FROM chatts f JOIN chatts r ON r.turn = r.seq AND r.seq <= f.floor
            WHERE f.opened IS NOT NULL AND (r.state = 'streaming' OR r.closed > f.opened)
            """)
        #expect(wrong.isEmpty)
    }

    @Test func promptsBehindEndedRepliesReadNoOtherRow() async throws {
        try await StoreProcesses.run { processes in
            for _ in 0..<3 {
                try await processes.first.exchange("a", "1")
            }
            #expect(
                try await processes.sql("SELECT seq, floor FROM chatts WHERE turn = seq ORDER BY seq")
                    == [["2", "1"], ["4", "3"], ["6", "5"]])
        }
    }

    @Test func floorRisesAfterManyPromptsDuringARunningReply() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let long = try await store.open("long")
            for _ in 0..<40 {
                try await store.exchange("a", "1")
            }
            func floor() async throws -> String? {
                try await processes.sql("SELECT floor FROM chatts WHERE floor IS NOT NULL ORDER BY seq DESC LIMIT 1")
                    .first?[0]
            }
            #expect(try await floor() == "1")
            try await store.closeTurn(long.turn, with: long.closing("1"))
            try await store.exchange("a", "1")
            #expect(try await floor() == "83")
        }
    }

    @Test func feedHasTheEndOfAReplyFarAboveItsPosition() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let reader = FeedReader(pool: processes.pool)
            let key = ConversationKey(Owner(app: "app"))
            let long = try await store.open("long")
            for _ in 0..<150 {
                try await store.exchange("a", "1")
            }
            var position = try #require(try await reader.page(of: key, after: nil, isOpen: false).position)
            try await store.closeTurn(long.turn, with: long.closing("1"))
            for _ in 0..<150 {
                try await store.exchange("a", "1")
            }
            var kinds: [String] = []
            var more = true
            while more {
                let page = try await reader.page(of: key, after: position, isOpen: true)
                try #require(page.step == .events)
                position = try #require(page.position)
                more = page.hasMore
                for event in page.events {
                    if case .end(let id, _, _, _, _) = event.change { kinds.append(id == long.id ? "long" : "end") }
                }
            }
            #expect(kinds == ["long"] + [String](repeating: "end", count: 150))
        }
    }

    @Test func rowsThatAreRemovedMeanwhileHideNoReply() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            for _ in 0..<3 {
                try await store.exchange("a", "1")
            }
            // Removes two turns and adds a running reply, while a prompt waits for the conversation with its rows read.
            async let script = processes.sql(
                """
                DO $$
                DECLARE
                    number bigint;
                BEGIN
                    SELECT revision INTO number FROM chatterd_conversations FOR UPDATE;
                    PERFORM pg_advisory_xact_lock(41);
                    WHILE NOT EXISTS (
                        SELECT FROM pg_locks WHERE NOT granted AND transactionid = pg_current_xact_id()::xid)
                    LOOP
                        PERFORM pg_sleep(0.005);
                    END LOOP;
                    PERFORM set_config('chatterd.owner', '*', true);
                    DELETE FROM chatts WHERE seq > 2;
                    UPDATE chatterd_conversations SET revision = revision + 2, base = revision + 1;
                    INSERT INTO chatts (appid, seq, turn, name, message, state, opened, floor)
                    VALUES ('app', 3, 3, 'assistant', '', 'streaming', number + 2, 2);
                END
                $$
                """)
            try await blocking { [conninfo = processes.conninfo] in
                try eventually("the lock of the conversation") {
                    try PrivateCluster.shared().query(
                        """
                        SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = 41
                            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                        """, database: conninfo
                    ).count > 0
                }
            }
            let opened = try await store.open("late")
            _ = try await script
            #expect(opened.turn.number == 8)
            try await expectFloors(processes)
        }
    }
}
