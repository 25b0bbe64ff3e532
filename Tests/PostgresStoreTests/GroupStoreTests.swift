import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore

/// Turns that are opened together, and replies that end together.
@Suite(.timeLimit(.minutes(30))) struct GroupStoreTests {
    private static func opening(_ conversation: ConversationKey, _ prompts: [String]) -> NewTurn {
        var opening = NewTurn(
            conversation: conversation, prompts: prompts.map { ModelMessage(role: "user", content: $0) }, id: .random(),
            model: "m \(conversation.text)", options: Array("\"seed\":1".utf8), onInterrupt: .regenerate)
        opening.digest = HistoryDigest(high: 1, low: UInt64(prompts.count))
        return opening
    }

    /// All that idempotency keys leave, but for ids and times.
    private static let keys = """
        SELECT k.appid, k.key, k.digest, c.turn, expires_at > now()
        FROM chatterd_keys k JOIN chatts c ON c.appid = k.appid AND c.id = k.reply ORDER BY k.appid, k.key
        """

    /// All that a turn leaves, but for ids and times.
    private static let rows = """
        SELECT c.appid, seq, turn, name, message, state, model, attempt, options, on_interrupt, total, after, opened, closed, reserved,
            floor, history, last_event, thinking, extras, holder IS NOT NULL, finished IS NOT NULL, v.owner, v.revision, v.base
        FROM chatts c JOIN chatterd_conversations v ON v.appid = c.appid ORDER BY c.appid, seq
        """

    @Test func turnsOfAGroupAreThoseThatEachOpensAlone() async throws {
        try await StoreProcesses.run(count: 1) { processes in
            let store = processes.first
            var stored: [[[String]]] = []
            for isGroup in [false, true] {
                for round in 0..<3 {
                    let turns = ["a", "b", "c"].map { name in
                        var opening = Self.opening(
                            ConversationKey(parsing: name), (0...round).map { "\(name) \($0)" })
                        opening.key =
                            name == "b" ? nil : IdempotencyKey(text: "key \(round)", digest: [0, UInt8(round), 255])
                        return opening
                    }
                    let numbers = try await Self.open(turns, by: store, asGroup: isGroup)
                    try #require(numbers.count == 3)
                    let ends = zip(turns, numbers).map { opening, number in
                        GroupStatements.End(
                            turn: Turn(conversation: opening.conversation, number: number),
                            reply: ClosingReply(
                                id: opening.id, journalled: ReplyPosition(), text: Array("to \(number)".utf8),
                                thinking: Array("hm".utf8), toolCalls: Array("{}".utf8),
                                ending: ReplyEnding(state: .complete, lastEvent: Array("{}".utf8))),
                            history: HistoryDigest(high: 2, low: UInt64(number)))
                    }
                    if isGroup {
                        let closed = try await processes.pool.run(GroupStatements.close(ends, owner: store.lease.id))
                        #expect(Array(closed).sorted() == [0, 1, 2])
                    } else {
                        for end in ends {
                            let query = ReplyStatements.close(
                                end.turn, with: end.reply, history: end.history, owner: store.lease.id)
                            #expect(try await processes.pool.run(query).affectedRows == 1)
                        }
                    }
                }
                stored.append(try await processes.sql(Self.rows) + processes.sql(Self.keys))
                try await processes.sql(
                    "SET chatterd.owner = '*'; DELETE FROM chatts; DELETE FROM chatterd_conversations; DELETE FROM chatterd_keys"
                )
            }
            #expect(stored[0].count == 27 + 6)
            #expect(stored[0] == stored[1])
        }
    }

    private static func open(
        _ turns: [NewTurn], by store: PostgresConversationStore, asGroup isGroup: Bool
    ) async throws -> [Int64] {
        var numbers: [Int64] = []
        if isGroup {
            let sizes = turns.map { PostgresConversationStore.size(of: $0.prompts) }
            let query = GroupStatements.open(
                turns, sizes: sizes, owner: store.lease.id, keyLifetime: .seconds(60), limit: 1 << 30)
            for opened in try await store.pool.run(query).sorted(by: { $0.index < $1.index }) {
                numbers.append(opened.turn.number)
            }
        } else {
            for opening in turns {
                guard case .opened(let turn, _, _) = try await store.openTurn(opening) else { continue }
                numbers.append(turn.number)
            }
        }
        return numbers
    }

    @Test func fullConversationKeepsNoOtherTurnOut() async throws {
        try await StoreProcesses.run(count: 1) { processes in
            let turns = ["a", "b"].map { Self.opening(ConversationKey(parsing: $0), ["p"]) }
            let query = GroupStatements.open(
                turns, sizes: [1_000, 10], owner: processes.first.lease.id, keyLifetime: .seconds(60), limit: 999)
            let opened = try await processes.pool.run(query)
            #expect(Array(opened).map(\.index) == [1])
            #expect(try await processes.sql("SELECT DISTINCT appid FROM chatts") == [["b"]])
        }
    }

    /// The group has read the last rows of both conversations when it waits for the lock of the first.
    @Test func turnDoesNotFollowRowsThatWereRemovedMeanwhile() async throws {
        try await StoreProcesses.run(count: 1) { processes in
            var outcome: PostgresError?
            for attempt in 0... {
                let turns = ["a", "b"].map { Self.opening(ConversationKey(parsing: "\($0)\(attempt)"), ["q"]) }
                for turn in turns { _ = try await processes.first.open("p", in: turn.conversation) }
                let removal = Task { _ = try await processes.sql(Self.removal(ofRows: turns[1], after: turns[0])) }
                let holder = """
                    FROM pg_locks WHERE locktype = 'advisory'
                    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                    """
                while try await processes.sql("SELECT pid \(holder)").isEmpty {}
                let query = GroupStatements.open(
                    turns, sizes: [1, 1], owner: processes.first.lease.id, keyLifetime: .seconds(60), limit: 1 << 30)
                outcome = await failure { try await processes.pool.run(query) }
                // The machine may stand still for longer than a group waits for a lock.
                guard outcome?.code != .timedOut else {
                    try await processes.sql("SELECT pg_terminate_backend(pid) \(holder)")
                    _ = await removal.result
                    continue
                }
                try await removal.value
                break
            }
            #expect(outcome?.sqlState == "22012")
        }
    }

    /// SQL that locks a conversation until a transaction waits for it, and then removes the rows of another one.
    private static func removal(ofRows removed: NewTurn, after locked: NewTurn) -> String {
        """
        SET chatterd.owner = '*';
        DO $$ BEGIN
            PERFORM FROM chatterd_conversations WHERE appid = '\(locked.conversation.text)' FOR UPDATE;
            PERFORM pg_advisory_xact_lock(1);
            WHILE NOT EXISTS (
                SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock') LOOP
                PERFORM pg_stat_clear_snapshot();
            END LOOP;
            DELETE FROM chatts WHERE appid = '\(removed.conversation.text)';
            UPDATE chatterd_conversations SET revision = revision + 1, base = revision + 1
            WHERE appid = '\(removed.conversation.text)';
        END $$
        """
    }

    private func failure<Value>(_ body: () async throws -> Value) async -> PostgresError? {
        do {
            _ = try await body()
            return nil
        } catch {
            return error as? PostgresError
        }
    }

    @Test func usedKeyKeepsNoOtherTurnOut() async throws {
        try await StoreProcesses.run(count: 1) { processes in
            let store = Self.patientStore(processes)
            var repeated = Self.opening("a", ["p"])
            repeated.key = IdempotencyKey(text: "k", digest: [1])
            let first = repeated.id
            #expect(try await Self.known(repeated, to: store) == nil)
            repeated.id = .random()
            var other = Self.opening("b", ["p"])
            other.key = repeated.key
            let (known, opened) = try await Self.atOnce(
                [
                    { [repeated] in
                        let reply = try await Self.known(repeated, to: store)
                        #expect(reply == first)
                    },
                    { [other] in
                        let reply = try await Self.known(other, to: store)
                        #expect(reply == nil)
                    },
                ], in: store, .opening)
            try await known.value
            try await opened.value
            #expect(
                try await processes.sql("SELECT appid, count(*) FROM chatts GROUP BY appid ORDER BY appid")
                    == [["a", "2"], ["b", "2"]])
        }
    }

    @Test(arguments: [(2, 2), (1, 1), (0, 0)])
    func limitsCountEachPromptOfAGroup(_ limit: Int, _ count: Int) async throws {
        try await StoreProcesses.run(count: 1) { processes in
            let store = Self.patientStore(processes)
            let turns = ["a", "b"].map { name in
                var opening = Self.opening(ConversationKey(parsing: name), ["p"])
                opening.meter = UsageStage.meter(Allowance(concurrentReplies: limit))
                return opening
            }
            let tasks = try await Self.atOnce(
                turns.map { turn in
                    { @Sendable () async throws in _ = try await store.openTurn(turn) }
                }, in: store, .opening, limitedBy: turns[0].limitedSource)
            let results = [await tasks.0.result, await tasks.1.result]
            let refusals = results.compactMap { result -> RelayError.Code? in
                if case .failure(let error) = result { (error as? RelayError)?.code } else { nil }
            }
            #expect(refusals == Array(repeating: .access(.rateLimited), count: 2 - count))
            #expect(try await processes.sql("SELECT count(*) FROM chatterd_charges") == [["\(count)"]])
            #expect(try await processes.sql("SELECT count(*) FROM chatts WHERE turn = seq") == [["\(count)"]])
        }
    }

    /// The reply that a request is known by; `nil` if it opens a turn.
    private static func known(_ opening: NewTurn, to store: PostgresConversationStore) async throws -> ReplyID? {
        switch try await store.openTurn(opening) {
        case .known(let reply): reply
        case .opened: nil
        }
    }

    /// A key whose reply is gone, or that has expired, is free.
    @Test(arguments: ["DELETE FROM chatts", "UPDATE chatterd_keys SET expires_at = now()"])
    func freeKeyIsTakenByAGroup(_ change: String) async throws {
        try await StoreProcesses.run(count: 1) { processes in
            let store = processes.first
            var opening = Self.opening("a", ["p"])
            opening.key = IdempotencyKey(text: "k", digest: [1])
            for _ in 0..<2 {
                opening.id = .random()
                #expect(try await Self.open([opening], by: store, asGroup: true).count == 1)
                #expect(try await Self.open([opening], by: store, asGroup: true).isEmpty)
                try await processes.sql("SET chatterd.owner = '*'; \(change)")
            }
        }
    }

    @Test func groupEndsOnlyRepliesThatTheProcessOwns() async throws {
        try await StoreProcesses.run { processes in
            let own = try await processes.first.open("p", in: "a")
            let foreign = try await processes.second.open("p", in: "b")
            let ended = try await processes.first.open("p", in: "c")
            try await processes.first.closeTurn(ended.turn, with: ended.closing("first"))
            let ends = [foreign, ended, own].map {
                GroupStatements.End(turn: $0.turn, reply: $0.closing("second"), history: nil)
            }
            let closed = try await processes.pool.run(GroupStatements.close(ends, owner: processes.first.lease.id))
            #expect(Array(closed) == [2])
            #expect(
                try await processes.sql("SELECT appid, state, message FROM chatts WHERE turn = seq ORDER BY appid")
                    == [["a", "complete", "second"], ["b", "streaming", ""], ["c", "complete", "first"]])
        }
    }

    /// A change of a conversation through the store.
    enum Change: CaseIterable {
        case opening, end
    }

    @Test(arguments: Change.allCases) func lockedConversationDelaysNoOther(_ change: Change) async throws {
        try await StoreProcesses.run(count: 1) { processes in
            let store = Self.patientStore(processes)
            let turns = [try await store.open("p", in: "a"), try await store.open("p", in: "b")]
            let holder = Task {
                try await processes.sql(
                    """
                    BEGIN; SELECT FROM chatterd_conversations WHERE appid = 'a' FOR UPDATE;
                    SELECT pg_sleep(3600)
                    """)
            }
            var pids: [[String]] = []
            while pids.isEmpty {
                pids = try await processes.sql(
                    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'")
            }
            let (locked, free) = try await Self.atOnce(
                turns.map { turn in
                    { @Sendable () async throws in
                        switch change {
                        case .opening: _ = try await store.openTurn(Self.opening(turn.turn.conversation, ["q"]))
                        case .end: try await store.closeTurn(turn.turn, with: turn.closing("text"))
                        }
                    }
                }, in: store, change)
            // The other one ends while the first waits for the lock.
            try await free.value
            try await processes.sql("SELECT pg_terminate_backend(\(pids[0][0]))")
            _ = try? await holder.value
            try await locked.value
            let column = change == .opening ? "count(*)" : "count(finished)"
            #expect(
                try await processes.sql("SELECT appid, \(column) FROM chatts GROUP BY appid ORDER BY appid")
                    == (change == .opening ? [["a", "4"], ["b", "4"]] : [["a", "1"], ["b", "1"]]))
        }
    }

    @Test(arguments: Change.allCases) func refusedChangeKeepsNoOtherOut(_ change: Change) async throws {
        try await StoreProcesses.run(count: 1) { processes in
            let store = Self.patientStore(processes)
            let turns = [try await store.open("p", in: "a"), try await store.open("p", in: "b")]
            // PostgreSQL stores no NUL.
            let texts = ["\0", "text"]
            let (refused, stored) = try await Self.atOnce(
                zip(turns, texts).map { turn, text in
                    { @Sendable () async throws in
                        switch change {
                        case .opening: _ = try await store.openTurn(Self.opening(turn.turn.conversation, [text]))
                        case .end: try await store.closeTurn(turn.turn, with: turn.closing(text))
                        }
                    }
                }, in: store, change)
            try await stored.value
            #expect(await relayCode { try await refused.value } == (change == .opening ? .internal : .replyNotStored))
            #expect(
                try await processes.sql("SELECT appid FROM chatts WHERE message = 'text'") == [["b"]])
        }
    }

    /// A store whose changes share a transaction only when the test ends one.
    private static func patientStore(_ processes: StoreProcesses) -> PostgresConversationStore {
        PostgresConversationStore(
            pool: processes.pool, lease: ProcessLease(id: .random()), historyLimit: 1 << 20,
            groupTimeout: .seconds(3_600))
    }

    /// Has two changes share a transaction: as many others run until both wait.
    private static func atOnce(
        _ changes: [@Sendable () async throws -> Void], in store: PostgresConversationStore, _ change: Change,
        limitedBy source: UsageSource? = nil
    ) async throws -> (Task<Void, any Error>, Task<Void, any Error>) {
        let end = GroupStatements.End(
            turn: Turn(conversation: "held", number: 2),
            reply: ClosingReply(
                id: .random(), journalled: ReplyPosition(), text: [], thinking: [], toolCalls: [],
                ending: ReplyEnding(state: .complete, lastEvent: [])), history: nil)
        let held = opening("held", [])
        let openings = PostgresConversationStore.Openings.Lane(source: source)
        let ends = PostgresConversationStore.Ends.Lane()
        for _ in 0..<PostgresConversationStore.Ends.concurrency {
            switch change {
            case .opening: _ = await store.openings.enter(.init(held, of: "held", in: openings, bytes: 0))
            case .end: _ = await store.ends.enter(.init(end, of: "held", in: ends, bytes: 0))
            }
        }
        let tasks = changes.map { body in
            Task(executorPreference: store.pool.shard) { try await body() }
        }
        while store.openings.waitingCount + store.ends.waitingCount < tasks.count { await Task.yield() }
        for _ in 0..<PostgresConversationStore.Ends.concurrency {
            if change == .opening { store.openings.leave(openings) } else { store.ends.leave(ends) }
        }
        return (tasks[0], tasks[1])
    }

    /// Two processes, two prompts of each conversation at once: some share transactions, some lose against the other process.
    @Test func promptsAtOnceAreEachStoredOnce() async throws {
        try await StoreProcesses.run { processes in
            let conversations = 20
            var tasks: [Task<Void, any Error>] = []
            for number in 0..<conversations * 4 {
                let store = processes.stores[number / 2 % 2]
                let prompt = "prompt \(number)"
                tasks.append(
                    Task(executorPreference: processes.pool.shard) {
                        let name = ConversationKey(parsing: "c\(number % conversations)")
                        let opened = try await store.open(prompt, in: name)
                        try await store.closeTurn(opened.turn, with: opened.closing("to \(prompt)"))
                    })
            }
            for task in tasks { try await task.value }
            let pairs = try await processes.sql(
                """
                SELECT p.message, r.message, r.state FROM chatts p JOIN chatts r ON r.appid = p.appid AND r.seq = p.turn
                WHERE p.state = 'prompt' ORDER BY substr(p.message, 8)::integer
                """)
            #expect(pairs == (0..<conversations * 4).map { ["prompt \($0)", "to prompt \($0)", "complete"] })
            // Four prompts and four ends.
            #expect(
                try await processes.sql(
                    "SELECT DISTINCT revision - (SELECT min(opened) FROM chatts) FROM chatterd_conversations")
                    == [["7"]])
        }
    }
}
