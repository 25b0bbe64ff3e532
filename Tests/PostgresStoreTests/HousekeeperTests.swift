import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore
@testable import ChatterdRelay

/// The housekeeper closes open replies of dead processes, and removes old data.
@Suite(.timeLimit(.minutes(30))) struct HousekeeperTests {
    @Test func openTurnsOfDeadProcessesAreClosedInBoundedPieces() async throws {
        try await StoreProcesses.run { processes in
            let dead = processes.first
            for index in 0..<250 {
                let opened = try await dead.open("p", in: "app\(index)")
                _ = try await dead.journal([opened.entry("half")])
            }
            let keeper = Self.keeper(of: processes)
            try await keeper.runRound()
            #expect(try await Self.streaming(processes) == 250)
            try await processes.kill(dead)
            try await keeper.runRound()
            #expect(try await Self.streaming(processes) == 0)
            #expect(
                try await processes.sql("SELECT count(*) FROM chatts WHERE turn = seq GROUP BY finished ORDER BY 1")
                    == [["50"], ["100"], ["100"]])
            #expect(
                try await processes.sql("SELECT DISTINCT message, state FROM chatts WHERE turn = seq")
                    == [["half", "interrupted"]])
            #expect(try await processes.sql("SELECT count(*) FROM chatterd_journal") == [["0"]])
        }
    }

    @Test func replyToRegenerateIsLeftToTheAdopter() async throws {
        try await StoreProcesses.run { processes in
            let (dead, heir) = (processes.first, processes.second)
            let opened = try await dead.open("p", onInterrupt: .regenerate)
            try await processes.kill(dead)
            let keeper = Self.keeper(of: processes) {
                let adopted = try? await heir.adoptAbandoned(limit: 10, except: [], onClaim: { _, _ in })
                #expect(adopted?.map(\.id) == [opened.id])
            }
            try await keeper.runRound()
            #expect(try await heir.record(opened).attempt == 2)
            #expect(try await heir.record(opened).isAbandoned == false)
        }
    }

    @Test func onlyProcessTakesOverWithoutWaitingForLeases() async throws {
        try await StoreProcesses.run { processes in
            let killed = processes.first
            let opened = try await killed.open("p")
            let again = try await killed.open("p", in: "again", onInterrupt: .regenerate)
            _ = try await killed.journal([opened.entry("half")])
            let keeper = Self.keeper(of: processes) {
                _ = try? await processes.second.adoptAbandoned(limit: 10, except: [], onClaim: { _, _ in })
            }
            try await keeper.takeOver()
            #expect(try await processes.second.record(opened).state == .interrupted)
            #expect(try await processes.second.record(again).isAbandoned)
            try await keeper.runRound()
            #expect(try await processes.second.record(again).attempt == 2)
        }
    }

    @Test func unknownTurnOfTheProcessIsReleased() async throws {
        try await StoreProcesses.run { processes in
            // The confirmation of the opening was lost, so that it is on no board.
            let store = processes.second
            let opened = try await store.open("p")
            let keeper = Self.keeper(of: processes)
            try await keeper.runRound()
            #expect(try await store.record(opened).state == nil)
            store.lease.markUncertain()
            try await keeper.runRound()
            try await keeper.runRound()
            #expect(try await store.record(opened).state == .interrupted)
        }
    }

    @Test func turnWhoseEndTheStoreRefusedIsReleased() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.second
            let opened = try await store.open("p")
            _ = try await store.journal([opened.entry("half")])
            try await processes.sql("ALTER TABLE chatts ADD CHECK (last_event <> 'bad')")
            #expect(
                await relayCode {
                    try await store.closeTurn(opened.turn, with: opened.closing("x", lastEvent: "bad"))
                } == .replyNotStored)
            let keeper = Self.keeper(of: processes)
            try await keeper.runRound()
            try await keeper.runRound()
            #expect(try await store.record(opened).state == .interrupted)
        }
    }

    @Test func endingHousekeeperStartsNoLongWork() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            try await store.exchange("p", "q")
            try await processes.sql(
                "UPDATE chatts SET time = time - interval '1 day', finished = finished - interval '1 day'")
            let keeper = Self.keeper(of: processes, retention: .seconds(3_600))
            await keeper.end()
            try await keeper.runRound()
            #expect(try await processes.rowCounts() == ["chatts": 2])
            try await store.expireConversation("app", after: .seconds(1), isStopping: { true })
            #expect(try await processes.rowCounts() == [:])
        }
    }

    @Test func orderlyEndRemovesAllRowsOfAProcess() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.second
            let opened = try await store.open("p")
            try await processes.first.signal(.stop, to: try await store.record(opened))
            try await store.closeTurn(opened.turn, with: opened.closing("q"))
            let keeper = Self.keeper(of: processes)
            let renewal = LeaseRenewal(
                of: store.lease, turns: TurnBoard(limits: RelayLimits()), pool: processes.pool)
            renewal.start()
            keeper.start()
            await renewal.end()
            await keeper.end()
            #expect(try await processes.sql("SELECT count(*) FROM chatterd_processes") == [["0"]])
            #expect(try await processes.rowCounts() == ["chatts": 2])
        }
    }

    @Test func oldDataIsRemoved() async throws {
        try await StoreProcesses.run { processes in
            let (store, other) = (processes.first, processes.second)
            let running = try await store.open("p")
            let over = try await store.exchange("p", "q", in: "other")
            _ = try await store.journal([running.entry("kept")])
            try await other.signal(.read, to: try await store.record(running))
            _ = try await store.openTurn(
                NewTurn(
                    conversation: "keyed", prompts: [ModelMessage(role: "user", content: "p")], id: .random(),
                    model: "m",
                    key: IdempotencyKey(text: "k", digest: [1])))
            // A late journal, an old signal, an old key, and a dead process without turns.
            try await processes.sql(
                """
                INSERT INTO chatterd_journal SELECT 'other', id, 1, 0, 0, 0, 0, 'x', '', '' FROM chatts
                WHERE appid = 'other' AND turn = seq;
                UPDATE chatterd_signals SET at = now() - interval '1 hour';
                UPDATE chatterd_keys SET expires_at = now();
                INSERT INTO chatterd_processes VALUES (gen_random_uuid(), '-infinity')
                """)
            #expect(try await processes.rowCounts(of: over.turn.conversation)["chatterd_journal"] == 1)
            try await processes.proveSteadiness()
            let keeper = Self.keeper(of: processes)
            for _ in 0..<30 {
                try await keeper.runRound()
            }
            #expect(try await processes.rowCounts() == ["chatts": 2, "chatterd_journal": 1])
            #expect(try await processes.rowCounts(of: "other") == ["chatts": 2])
            #expect(try await processes.rowCounts(of: "keyed") == ["chatts": 2])
            // The leases of the first process and of the witness.
            #expect(try await processes.sql("SELECT count(*) FROM chatterd_processes") == [["2"]])
        }
    }

    @Test func idempotencyKeysAreRemovedInBoundedPieces() async throws {
        try await StoreProcesses.run { processes in
            try await processes.sql(
                """
                INSERT INTO chatterd_keys
                SELECT 'app', n::text, '', gen_random_uuid(), now() FROM generate_series(1, 10500) n
                """)
            let keeper = Self.keeper(of: processes)
            for left in [500, 0] {
                for _ in 0..<5 {
                    try await keeper.runRound()
                }
                #expect(try await processes.rowCounts()["chatterd_keys", default: 0] == left)
            }
        }
    }

    @Test func conversationsAreRemovedAfterTheirTime() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            for conversation: ConversationKey in ["old", "young", "running"] {
                try await store.exchange("p", "q", in: conversation)
            }
            for index in 0..<230 {
                try await store.exchange("p", "q", in: "row\(index)")
            }
            _ = try await store.open("p", in: "running")
            try await processes.sql(
                """
                UPDATE chatts SET time = time - interval '1 day', finished = finished - interval '1 day'
                WHERE appid IN ('old', 'running') OR appid = 'young' AND seq = 1 OR appid LIKE 'row%';
                INSERT INTO chatts (appid, seq, name, message, time) VALUES ('', 1, 'n', 'm', '2020-01-01')
                """)
            let lags = Lock<[Duration]>([])
            let keeper = Self.keeper(
                of: processes, retention: .seconds(3_600),
                observe: { event in
                    if case .retained(let lag) = event { lags.withLock { $0.append(lag) } }
                })
            // A round examines further conversations for a second after it has removed one.
            for _ in 0..<3 { try await keeper.runRound() }
            // They were removed a day after their last addition, an hour after which they may be.
            let found = lags.withLock { $0 }
            #expect(found.count == 3 && found.allSatisfy { .seconds(82_800)...(.seconds(86_400)) ~= $0 }, "\(found)")
            #expect(
                try await processes.sql("SELECT DISTINCT appid FROM chatts ORDER BY 1")
                    == [[""], ["running"], ["young"]])
        }
    }

    @Test func replyOfADeadProcessIsSettledAtAnyAge() async throws {
        try await StoreProcesses.run { processes in
            let dead = processes.first
            let opened = try await dead.open("p")
            let again = try await dead.open("p", in: "again", onInterrupt: .regenerate)
            _ = try await dead.journal([opened.entry("half")])
            // After this reply, more replies were closed than one query examines.
            try await processes.sql(
                """
                UPDATE chatts SET time = now() - interval '30 days';
                INSERT INTO chatts (appid, seq, turn, name, message, state, id, holder, time)
                SELECT 'done', n, n, 'assistant', 'x', 'complete', gen_random_uuid(),
                    (SELECT holder FROM chatts WHERE appid = 'app' AND turn = seq), now() - n * interval '1 s'
                FROM generate_series(1, 12000) n
                """)
            try await processes.kill(dead)
            let keeper = Self.keeper(of: processes) {
                _ = try? await processes.second.adoptAbandoned(limit: 10, except: [], onClaim: { _, _ in })
            }
            try await keeper.runRound()
            #expect(try await processes.second.record(opened).state == .interrupted)
            #expect(try await processes.second.record(again).attempt == 2)
            // The closed replies keep their owner, and the lease of the process is removed.
            #expect(
                try await processes.sql("SELECT count(DISTINCT holder) FROM chatts WHERE appid = 'done'") == [["1"]])
            #expect(try await processes.sql("SELECT count(*) FROM chatterd_processes") == [["2"]])
        }
    }

    @Test func processThatReturnsDuringTheRoundKeepsItsLease() async throws {
        try await StoreProcesses.run { processes in
            let (back, heir) = (processes.first, processes.second)
            _ = try await back.open("p")
            try await processes.kill(back)
            let dead = try await processes.pool.run(LeaseStatements.dead(except: heir.lease.id))
            let lease = try #require(dead.first)
            // The process opens another turn, and its lease expires again.
            let opened = try await back.open("q", in: "other")
            try await processes.sql("UPDATE chatterd_processes SET expires_at = now() - interval '2 hours'")
            try await processes.proveSteadiness()
            _ = try await processes.pool.run(LeaseStatements.forget(lease))
            try await Self.keeper(of: processes).runRound()
            #expect(try await heir.record(opened).state == .interrupted)
        }
    }

    @Test func processWithoutOpenTurnsKeepsItsLease() async throws {
        try await StoreProcesses.run { processes in
            let renewal = LeaseRenewal(
                of: processes.second.lease, turns: TurnBoard(limits: RelayLimits()), pool: processes.pool)
            renewal.start()
            while try await processes.sql("SELECT id FROM chatterd_processes WHERE since IS NOT NULL").isEmpty {}
            await renewal.end()
            await Self.keeper(of: processes).end()
            #expect(try await processes.sql("SELECT id FROM chatterd_processes").isEmpty)
        }
    }

    @Test func processThatLeavesATurnOpenKeepsAnExpiredLease() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.second
            _ = try await store.open("p")
            store.lease.markUncertain()
            await Self.keeper(of: processes).end()
            // The trigger of the tests adds an hour.
            #expect(
                try await processes.sql("SELECT expires_at <= now() + interval '1 hour' FROM chatterd_processes")
                    == [["t"]])
        }
    }

    @Test func replyWhoseEndWasNotStoredIsLeftToOtherProcesses() async throws {
        try await StoreProcesses.run { processes in
            let (store, other) = (processes.second, processes.first)
            let opened = try await store.open("p")
            try await processes.sql(
                """
                CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = 'disk_full'; END $$;
                CREATE TRIGGER no_room BEFORE UPDATE ON chatts FOR EACH ROW EXECUTE FUNCTION no_room()
                """)
            #expect(
                await relayCode { try await store.closeTurn(opened.turn, with: opened.closing("q")) }
                    == .storeUnavailable)
            await Self.keeper(of: processes).end()
            try await processes.sql("DROP TRIGGER no_room ON chatts")
            try await processes.kill(store)
            let keeper = Housekeeper(
                store: other, turns: TurnBoard(limits: RelayLimits()), retention: nil, adopt: {})
            try await keeper.runRound()
            #expect(try await other.record(opened).state == .interrupted)
        }
    }

    @Test func replyOfADeadProcessDoesNotPreventTheRemovalOfItsConversation() async throws {
        try await StoreProcesses.run { processes in
            _ = try await processes.first.open("p")
            try await processes.sql(
                "UPDATE chatts SET time = time - interval '9 days', holder = gen_random_uuid() WHERE appid = 'app'")
            // No process has been alive for long, however slow the test is.
            try await processes.sql("UPDATE chatterd_processes SET since = 'infinity'")
            let keeper = Self.keeper(of: processes, retention: .seconds(3_600))
            try await keeper.runRound()
            #expect(try await processes.rowCounts() == ["chatts": 2])
            try await processes.proveSteadiness()
            let other = Self.keeper(of: processes, retention: .seconds(3_600))
            try await other.runRound()
            #expect(try await processes.rowCounts() == [:])
        }
    }

    private static func keeper(
        of processes: StoreProcesses, retention: Duration? = nil, adopt: @escaping @Sendable () async -> Void = {},
        observe: @escaping @Sendable (Housekeeper.Event) -> Void = { _ in }
    ) -> Housekeeper {
        Housekeeper(
            store: processes.second, turns: TurnBoard(limits: RelayLimits()), retention: retention, adopt: adopt,
            observe: observe)
    }

    private static func streaming(_ processes: StoreProcesses) async throws -> Int {
        let rows = try await processes.sql("SELECT count(*) FROM chatts WHERE state = 'streaming'")
        return Int(rows[0][0]) ?? -1
    }
}
