import ChatterdChat
import ChatterdIdentity
import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore

/// Conversations that are removed or replaced leave no rows.
@Suite(.timeLimit(.minutes(30))) struct RemovalStoreTests {
    @Test func deletedConversationLeavesNoRows() async throws {
        try await StoreProcesses.run { processes in
            let running = try await Self.fill("app", of: processes)
            _ = try await Self.fill("other", of: processes)
            let before = try await processes.rowCounts(of: "other")
            #expect(before.count == 4)
            try await processes.second.deleteConversation("app")
            #expect(try await processes.rowCounts().isEmpty)
            #expect(try await processes.rowCounts(of: "other") == before)
            // The owner of the reply detects the deletion.
            let store = processes.first
            #expect(
                try await store.journal([running.entry(from: ReplyPosition(text: 4), "x")])
                    .contains(ReplySignal(id: running.id, kind: .gone)))
            #expect(
                await relayCode {
                    try await store.closeTurn(
                        running.turn, with: running.closing("x", behind: ReplyPosition(text: 4)))
                } == .conversationReplaced)
            #expect(try await processes.rowCounts().isEmpty)
        }
    }

    @Test func signalsAreDeletedWithTheirConversation() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let reply = try await store.open("p")
            try await processes.second.signal(.stop, to: try await store.record(reply))
            try await store.closeTurn(reply.turn, with: reply.closing("a"))
            try await store.deleteConversation("app")
            #expect(try await processes.rowCounts().isEmpty)
        }
    }

    @Test func replacedConversationHasOnlyItsNewMessages() async throws {
        try await StoreProcesses.run { processes in
            _ = try await Self.fill("app", of: processes)
            try await processes.second.replaceConversation(
                "app", with: [ModelMessage(role: "system", content: "s")])
            #expect(try await processes.rowCounts() == ["chatts": 1])
        }
    }

    @Test func replacedConversationLeavesNoKeys() async throws {
        try await StoreProcesses.run { processes in
            let opening = NewTurn(
                conversation: "app", prompts: [ModelMessage(role: "user", content: "p")], id: .random(), model: "m",
                key: IdempotencyKey(text: "k", digest: [1]))
            guard case .opened(let turn, let history, _) = try await processes.first.openTurn(opening) else {
                throw TestFailure("not opened")
            }
            // No reply is running, so no sweep follows: the replacement itself removes the key.
            let opened = StoredTurn(turn: turn, id: opening.id, history: history)
            try await processes.first.closeTurn(turn, with: opened.closing("a"))
            #expect(try await processes.rowCounts() == ["chatts": 2, "chatterd_keys": 1])
            try await processes.second.replaceConversation(
                "app", with: [ModelMessage(role: "system", content: "s")])
            #expect(try await processes.rowCounts() == ["chatts": 1])
        }
    }

    @Test func runningReplyStaysWhenTheConversationIsSwept() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let old = try await store.open("p")
            _ = try await store.journal([old.entry("old")])
            // A new turn begins between the removal of the rows and the sweep.
            try await processes.sql("DELETE FROM chatts")
            let new = try await store.open("q")
            _ = try await store.journal([new.entry("new")])
            try await processes.second.signal(.read, to: try await store.record(new))
            try await processes.second.sweep("app", isBeingWritten: true)
            #expect(try await processes.rowCounts() == ["chatts": 2, "chatterd_journal": 1, "chatterd_signals": 1])
            #expect(try await store.readAll(try await store.record(new)).map(\.words).joined() == "new")
        }
    }

    @Test func replyOfADeletedConversationDoesNotJoinItsSuccessor() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let old = try await store.open("p")
            try await store.deleteConversation("app")
            let new = try await store.open("q")
            #expect(new.turn == old.turn)
            #expect(try await store.history(of: new.turn, for: new.id).said == ["user q"])
            #expect(
                await relayCode { _ = try await store.history(of: old.turn, for: old.id) } == .conversationReplaced)
            #expect(try await store.journal([old.entry("old")]) == [ReplySignal(id: old.id, kind: .gone)])
            _ = try await store.journal([new.entry("ne")])
            for position in [ReplyPosition(), ReplyPosition(text: 2)] {
                #expect(
                    await relayCode { try await store.closeTurn(old.turn, with: old.closing("old", behind: position)) }
                        == .conversationReplaced)
            }
            try await store.closeTurn(new.turn, with: new.closing("w", behind: ReplyPosition(text: 2)))
            #expect(try await store.open("r").said == ["user q", "assistant new", "user r"])
        }
    }

    @Test func removalOfClosedRepliesBlocksNoWriter() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            try await store.exchange("p", "q")
            let running = try await store.open("p", in: "running")
            let held = "SELECT pg_sleep(3600) FROM pg_advisory_xact_lock_shared(x'6a6f75726e616c'::bigint)"
            let writing = Task { try await processes.sql(held) }
            let waiting =
                "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND database = "
                + "(SELECT oid FROM pg_database WHERE datname = current_database())"
            var pids: [[String]] = []
            while pids.isEmpty {
                pids = try await processes.sql(waiting)
            }
            // Another conversation's journal is being written all the time.
            for conversation: ConversationKey in ["app", "none"] {
                try await store.deleteConversation(conversation)
            }
            try await store.expireConversation("running", after: .seconds(3_600), isStopping: { false })
            #expect(try await processes.rowCounts().isEmpty)
            #expect(try await store.record(running).state == nil)
            #expect(try await processes.sql(waiting) == pids)
            try await processes.sql("SELECT pg_terminate_backend(\(pids[0][0]))")
            _ = try? await writing.value
        }
    }

    @Test func longConversationIsDeletedInPieces() async throws {
        try await StoreProcesses.run { processes in
            try await processes.sql(
                """
                INSERT INTO chatts (appid, seq, name, message) SELECT 'app', n, 'user', 'm' FROM generate_series(1, 3500) n;
                INSERT INTO chatterd_keys SELECT 'app', n::text, '', gen_random_uuid(), now() FROM generate_series(1, 2500) n;
                CREATE TABLE deleted (count bigint);
                CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
                $$ BEGIN INSERT INTO deleted SELECT count(*) FROM gone; RETURN NULL; END $$;
                CREATE TRIGGER note AFTER DELETE ON chatts REFERENCING OLD TABLE AS gone FOR EACH STATEMENT
                EXECUTE FUNCTION note()
                """)
            try await processes.first.deleteConversation("app")
            #expect(try await processes.rowCounts().isEmpty)
            #expect(
                try await processes.sql("SELECT count FROM deleted") == [["1000"], ["1000"], ["1000"], ["500"]])
        }
    }

    @Test func deletionLeavesNoRowsOfARunningReply() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            for round in 0..<10 {
                let opened = try await store.open("p")
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        var position = ReplyPosition()
                        while true {
                            let entry = opened.entry(from: position, "text ")
                            position = entry.page.end
                            if try await !store.journal([entry]).isEmpty { break }
                        }
                    }
                    group.addTask {
                        if round % 2 == 0 {
                            try await processes.second.deleteConversation("app")
                        } else {
                            try await processes.second.replaceConversation("app", with: [])
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(try await processes.rowCounts().isEmpty)
            }
        }
    }

    /// A conversation with rows in every table; returns the turn that is open.
    private static func fill(_ conversation: ConversationKey, of processes: StoreProcesses) async throws -> StoredTurn {
        let store = processes.first
        try await store.exchange("a", "1", in: conversation)
        _ = try await store.openTurn(
            NewTurn(
                conversation: conversation, prompts: [ModelMessage(role: "user", content: "p")], id: .random(),
                model: "m",
                key: IdempotencyKey(text: "k", digest: [1])))
        let running = try await store.open("b", in: conversation)
        _ = try await store.journal([running.entry("text")])
        try await processes.second.signal(.read, to: try await store.record(running))
        return running
    }
}
