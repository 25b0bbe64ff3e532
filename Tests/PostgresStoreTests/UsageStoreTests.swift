import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore

/// Limits and usage in PostgreSQL.
@Suite(.timeLimit(.minutes(30))) struct UsageStoreTests {
    /// A last line with the counts of a model server.
    private static let counted = #"{"done":true,"prompt_eval_count":7,"eval_count":3}"#

    // MARK: - Limits

    @Test func processesShareTheLimitOfConcurrentReplies() async throws {
        try await UsageStage.run { stage in
            let meter = UsageStage.meter(Allowance(concurrentReplies: 5))
            let opened = try await stage.openAtOnce(30, meter)
            #expect(opened == 5)
            #expect(try await stage.refusal(meter)?.name == .concurrentReplies)
            // Another key has its own limit.
            #expect(try await stage.refusal(UsageStage.meter(Allowance(concurrentReplies: 1), key: "other")) == nil)
        }
    }

    @Test func processesShareTheLimitOfTokensOfADay() async throws {
        try await UsageStage.run { stage in
            // Each prompt of one byte reserves 1 + 9 tokens.
            let meter = UsageStage.meter(Allowance(tokensPerDay: 75))
            let options = #""options":{"num_predict":9}"#
            #expect(try await stage.openAtOnce(20, meter, options: options) == 7)
            let exceeded = try #require(try await stage.refusal(meter, options: options))
            #expect(exceeded.name == .tokensPerDay && !exceeded.isOwners)
            #expect(exceeded.maximum == 75 && exceeded.remaining == 5 && exceeded.needed == 10)
            #expect(1...86_400 ~= exceeded.reset)
        }
    }

    @Test func processesShareTheRequestsOfAMinute() async throws {
        try await UsageStage.run { stage in
            // The first requests use the whole minute. Then one more is permitted for each twelve seconds.
            let meter = UsageStage.meter(Allowance(requestsPerMinute: 5))
            let begin = ContinuousClock.now
            let opened = try await stage.openAtOnce(40, meter)
            let later = Int((ContinuousClock.now - begin) / .seconds(12))
            #expect(5...5 + later ~= opened)
        }
    }

    @Test func minuteOfRequestsFillsUpAgain() async throws {
        try await UsageStage.run { stage in
            let meter = UsageStage.meter(Allowance(requestsPerMinute: 1))
            let (_, quota) = try await stage.open("p", meter)
            let level = try #require(quota?.requests)
            #expect(level.maximum == 1 && level.remaining == 0 && level.reset == 60)
            let exceeded = try #require(try await stage.refusal(meter))
            #expect(exceeded.name == .requestsPerMinute && exceeded.maximum == 1 && exceeded.remaining == 0)
            #expect(1...60 ~= exceeded.reset && exceeded.quota.requests?.remaining == 0)
            try await stage.processes.sql("UPDATE chatterd_meters SET full_at = full_at - interval '61 s'")
            #expect(try await stage.refusal(meter) == nil)
        }
    }

    /// A request holds its first meter, and wants its second one, which is older: the expiry finds that one first.
    @Test func expiryWaitsForNoMeter() async throws {
        try await StoreProcesses.run(count: 1) { processes in
            try await processes.sql(
                """
                INSERT INTO chatterd_meters (subject, full_at)
                VALUES ('second', now() - interval '2 h'), ('first', now() - interval '2 h')
                """)
            let holder = """
                FROM pg_locks WHERE locktype = 'advisory'
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                """
            let request = Task {
                try await processes.sql(
                    """
                    DO $$ BEGIN
                        PERFORM FROM chatterd_meters WHERE subject = 'first' FOR NO KEY UPDATE;
                        PERFORM pg_advisory_xact_lock(1);
                        WHILE EXISTS (SELECT FROM chatterd_meters WHERE subject = 'second') AND NOT EXISTS (
                            SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock') LOOP
                            PERFORM pg_stat_clear_snapshot();
                        END LOOP;
                        PERFORM FROM chatterd_meters WHERE subject = 'second' FOR NO KEY UPDATE NOWAIT;
                    END $$
                    """)
            }
            while try await processes.sql("SELECT pid \(holder)").isEmpty {}
            _ = try await processes.pool.run(UsageStatements.expireMeters)
            _ = try await request.value
            #expect(try await processes.sql("SELECT subject FROM chatterd_meters") == [["first"]])
        }
    }

    @Test(arguments: [1, 7, 59, 61, 1_000_000_000])
    func wholeMinuteHasRoomForAllRequests(limit: Int) async throws {
        try await UsageStage.run { stage in
            let meter = UsageStage.meter(Allowance(requestsPerMinute: limit))
            let (_, quota) = try await stage.open("p", meter)
            let remaining = try #require(quota?.requests?.remaining)
            // The time of the statement itself refills large limits.
            #expect(limit - 1...limit ~= remaining)
        }
    }

    @Test func limitOfZeroRefusesAllRequests() async throws {
        try await UsageStage.run { stage in
            for allowance in [
                Allowance(requestsPerMinute: 0), Allowance(tokensPerDay: 0), Allowance(concurrentReplies: 0),
            ] {
                let refusal = try await stage.refusal(UsageStage.meter(allowance))
                #expect(refusal != nil)
            }
        }
    }

    @Test func refusedRequestStoresNothing() async throws {
        try await UsageStage.run { stage in
            let meter = UsageStage.meter(Allowance(requestsPerMinute: 9, concurrentReplies: 0))
            let refusal = try await stage.refusal(meter)
            #expect(refusal?.name == .concurrentReplies)
            for table in ["chatts", "chatterd_conversations", "chatterd_charges", "chatterd_meters", "chatterd_keys"] {
                #expect(try await stage.processes.sql("SELECT * FROM \(table)").isEmpty, "\(table)")
            }
        }
    }

    @Test func tokenCountsAgainstItsPersonAndItsKey() async throws {
        try await UsageStage.run { stage in
            let limits = Allowance(concurrentReplies: 3)
            func token(_ person: String) -> Meter {
                UsageStage.meter(limits, person: person, own: Allowance(requestsPerMinute: 50, concurrentReplies: 1))
            }
            let (_, quota) = try await stage.open("p", token("ada"), in: "a")
            #expect(quota?.requests?.maximum == 50)
            let own = try #require(try await stage.refusal(token("ada"), in: "a"))
            #expect(own.isOwners && own.maximum == 1)
            _ = try await stage.open("p", token("bob"), in: "b")
            _ = try await stage.open("p", UsageStage.meter(limits))
            let key = try #require(try await stage.refusal(token("eve"), in: "e"))
            #expect(!key.isOwners && key.maximum == 3 && key.remaining == 0)
            // The person of another key of the app is the same one.
            let other = UsageStage.meter(key: "other", person: "ada", own: Allowance(concurrentReplies: 1))
            #expect(try await stage.refusal(other, in: "a")?.isOwners == true)
        }
    }

    @Test func repeatedPromptCountsOnce() async throws {
        try await UsageStage.run { stage in
            let meter = UsageStage.meter(Allowance(requestsPerMinute: 1))
            let key = IdempotencyKey(text: "k", digest: [1])
            let (opened, _) = try await stage.open("p", meter, key: key)
            let again = try await stage.store.openTurn(
                NewTurn(
                    conversation: "app", prompts: [ModelMessage(role: "user", content: "p")], id: .random(), model: "m",
                    key: key, meter: meter))
            guard case .known(let id) = again else { throw TestFailure("the prompt was opened twice") }
            #expect(id == opened.id)
            #expect(try await stage.charges().count == 1)
        }
    }

    @Test func otherAnswerCounts() async throws {
        try await UsageStage.run { stage in
            let meter = UsageStage.meter(Allowance(concurrentReplies: 1))
            let (opened, _) = try await stage.open("p", meter)
            try await stage.store.closeTurn(opened.turn, with: opened.closing("a", lastEvent: Self.counted))
            let record = try await stage.store.record(opened)
            let other = try await stage.store.openAlternative(
                to: record, as: .random(), model: nil, onInterrupt: .close, meter: meter)
            #expect(other.quota == Quota())
            #expect(
                await relayCode {
                    _ = try await stage.store.openAlternative(
                        to: record, as: .random(), model: nil, onInterrupt: .close, meter: meter)
                } == .access(.rateLimited))
            #expect(try await stage.charges().count == 2)
        }
    }

    @Test func useOfYesterdayDoesNotCount() async throws {
        try await UsageStage.run { stage in
            let meter = UsageStage.meter(Allowance(tokensPerDay: 15))
            let options = #""num_predict":9"#
            _ = try await stage.open("p", meter, options: options)
            #expect(try await stage.refusal(meter, options: options) != nil)
            try await stage.processes.sql("UPDATE chatterd_charges SET day = day - 1")
            #expect(try await stage.refusal(meter, options: options) == nil)
        }
    }

    // MARK: - Settlement

    @Test func answerIsSettledWithTheCountsOfTheModelServer() async throws {
        try await UsageStage.run { stage in
            let meter = UsageStage.meter(Allowance(tokensPerDay: 10_000))
            let (opened, quota) = try await stage.open("12345678", meter)
            #expect(try await stage.charges() == [["3", "1024", "f"]])
            #expect(quota?.tokens?.remaining == 10_000 - 1_027)
            try await stage.store.closeTurn(opened.turn, with: opened.closing("Hello", lastEvent: Self.counted))
            #expect(try await stage.charges() == [["7", "3", "t"]])
            // A repeated close settles nothing.
            try await stage.store.closeTurn(opened.turn, with: opened.closing("Hello", lastEvent: Self.counted))
            #expect(try await stage.charges() == [["7", "3", "t"]])
            let (_, next) = try await stage.open("p", meter)
            // The prompt has 14 bytes now.
            #expect(next?.tokens?.remaining == 10_000 - 10 - 1_028)
        }
    }

    @Test(arguments: ["options", "max_tokens", "max_completion_tokens"])
    func reservationIsThePermittedLengthOfTheAnswer(name: String) async throws {
        try await UsageStage.run { stage in
            let options = name == "options" ? #""options":{"top_k":3,"num_predict":77}"# : "\"\(name)\": 77"
            _ = try await stage.open("p", UsageStage.meter(), options: options)
            #expect(try await stage.charges() == [["1", "77", "f"]])
        }
    }

    @Test func historyCountsAsPromptUpToALimit() async throws {
        try await UsageStage.run { stage in
            _ = try await stage.store.exchange(String(repeating: "a", count: 4_000), "b")
            _ = try await stage.open("p", UsageStage.meter())
            let charges = try await stage.charges()
            #expect(1_000...1_200 ~= (Int(charges[0][0]) ?? 0))
            _ = try await stage.open(String(repeating: "a", count: 200_000), UsageStage.meter(), in: "long")
            #expect(try await stage.charges().last?[0] == "\(UsageStatements.longestPrompt)")
        }
    }

    @Test func cancelledAnswerIsSettledWithAnEstimate() async throws {
        try await UsageStage.run { stage in
            let (opened, _) = try await stage.open("p", UsageStage.meter())
            var closing = opened.closing("12345678", as: .cancelled)
            closing.provenance = ReplyProvenance(report: PromptReport())
            try await stage.store.closeTurn(opened.turn, with: closing)
            #expect(try await stage.charges() == [["1", "2", "t"]])
        }
    }

    @Test func replyWithoutARequestToAModelServerCostsNothing() async throws {
        try await UsageStage.run { stage in
            let (opened, _) = try await stage.open("p", UsageStage.meter())
            try await stage.store.closeTurn(opened.turn, with: opened.closing(as: .cancelled, lastEvent: ""))
            #expect(try await stage.charges() == [["0", "0", "t"]])
        }
    }

    @Test(arguments: [("", ["0", "0", "t"]), ("12345", ["1", "2", "t"])])
    func failedReplyCostsItsPromptOnlyWithText(text: String, charge: [String]) async throws {
        try await UsageStage.run { stage in
            let (opened, _) = try await stage.open("p", UsageStage.meter())
            var closing = opened.closing(text, as: .failed, lastEvent: "")
            closing.provenance = ReplyProvenance(report: PromptReport())
            try await stage.store.closeTurn(opened.turn, with: closing)
            #expect(try await stage.charges() == [charge])
        }
    }

    @Test func textThatLooksLikeACountIsNone() async throws {
        try await UsageStage.run { stage in
            let (opened, _) = try await stage.open("p", UsageStage.meter())
            let line = #"{"message":{"content":"\"eval_count\":900000000,"},"done":true,"eval_count":3}"#
            try await stage.store.closeTurn(opened.turn, with: opened.closing("Hello", lastEvent: line))
            #expect(try await stage.charges() == [["1", "3", "t"]])
        }
    }

    @Test func argumentsThatLookLikeCountsAreNone() async throws {
        try await UsageStage.run { stage in
            let call = #"[{"function":{"name":"f","arguments":{"eval_count":1,"prompt_eval_count":1}}}]"#
            let head = #"{"message":{"content":"","tool_calls":\#(call)},"done":true"#
            for counts in [#","prompt_eval_count":50000,"eval_count":70000}"#, "}"] {
                let (opened, _) = try await stage.open("p", UsageStage.meter(), in: "app\(counts.count)")
                try await stage.store.closeTurn(opened.turn, with: opened.closing("Hello", lastEvent: head + counts))
            }
            #expect(try await stage.charges() == [["1", "2", "t"], ["50000", "70000", "t"]])
        }
    }

    @Test func countsThatOverflowAreNotAdded() async throws {
        try await UsageStage.run { stage in
            for (index, number) in PeerNumber.all.enumerated() {
                let line = #"{"done":true,"prompt_eval_count":\#(number.text),"eval_count":\#(number.text)}"#
                for (form, line) in [line, line.replacing("{\"done", with: "{\"tool_calls\":null,\"done")].enumerated()
                {
                    let (opened, _) = try await stage.open("p", UsageStage.meter(), in: "app\(index)-\(form)")
                    try await stage.store.closeTurn(opened.turn, with: opened.closing("Hello", lastEvent: line))
                }
            }
            // The usage has counts of nine digits at most. Others are estimated from the text.
            let counts = PeerNumber.all.map { number in number.count.flatMap { $0 < 1_000_000_000 ? $0 : nil } }
            let charges = counts.flatMap { count in
                Array(repeating: count.map { ["\($0)", "\($0)", "t"] } ?? ["1", "2", "t"], count: 2)
            }
            #expect(try await stage.charges().map { $0.joined() }.sorted() == charges.map { $0.joined() }.sorted())
        }
    }

    /// The numbers of imported rows may be up to 2^53, so that they do not say how many rows there are.
    @Test(arguments: [nil, 1_000_000] as [Int?]) func conversationWithLargeNumbersCountsAsPrompt(
        tokens: Int?
    ) async throws {
        try await UsageStage.run { stage in
            _ = try await stage.store.exchange(String(repeating: "a", count: 4_000), "b")
            try await stage.processes.sql(
                """
                UPDATE chatts SET seq = seq + 9007199254740000, turn = turn + 9007199254740000,
                    floor = floor + 9007199254740000
                """)
            _ = try await stage.open("p", UsageStage.meter(Allowance(tokensPerDay: tokens)))
            let charges = try await stage.charges()
            #expect(1_000...1_400 ~= (Int(charges[0][0]) ?? 0), "\(charges)")
        }
    }

    @Test func replyOfADeadProcessIsSettledByAnother() async throws {
        try await UsageStage.run { stage in
            let meter = UsageStage.meter(Allowance(concurrentReplies: 1))
            let (opened, _) = try await stage.open("p", meter)
            _ = try await stage.store.journal([opened.entry("12345678")])
            try await stage.processes.kill(stage.store)
            // It may be running still.
            #expect(try await stage.refusal(meter, in: "b") != nil)
            #expect(
                try await stage.processes.second.settleTurn(
                    opened.turn, isAbandonedHere: false, closesRegenerated: false))
            #expect(try await stage.charges() == [["1", "2", "t"]])
            #expect(try await stage.refusal(meter, in: "b") == nil)
        }
    }

    @Test func adoptedReplyIsSettledOnceByItsLastOwner() async throws {
        try await UsageStage.run { stage in
            let meter = UsageStage.meter(Allowance(concurrentReplies: 1))
            let (opened, _) = try await stage.open("p", meter, onInterrupt: .regenerate)
            try await stage.processes.kill(stage.store, isNoticed: true)
            let second = stage.processes.second
            #expect(try await second.adoptAbandoned(limit: 1, except: []) { _, _ in }.map(\.id) == [opened.id])
            #expect(try await stage.charges() == [["1", "1024", "f"]])
            let closing = opened.closing("x", behind: ReplyPosition(attempt: 2), lastEvent: Self.counted)
            try await second.closeTurn(opened.turn, with: closing)
            let late = await relayCode {
                try await stage.store.closeTurn(opened.turn, with: opened.closing("late"))
            }
            #expect(late == .interrupted)
            #expect(try await stage.charges() == [["7", "3", "t"]])
        }
    }

    @Test func abandonedRepliesAreSettledByTheHousekeeper() async throws {
        try await UsageStage.run { stage in
            let meter = UsageStage.meter(Allowance(concurrentReplies: 3))
            for conversation: ConversationKey in ["a", "b", "c"] {
                _ = try await stage.open("p", meter, in: conversation)
            }
            try await stage.processes.kill(stage.store)
            let keeper = Housekeeper(
                store: stage.processes.second, turns: TurnBoard(limits: RelayLimits()), retention: nil, adopt: {})
            for _ in 0..<5 {
                try await keeper.runRound()
            }
            // Settled charges are moved to the usage.
            #expect(try await stage.charges().isEmpty)
            let usage = try await stage.processes.sql(
                "SELECT source, owner = '', requests, prompt_tokens, answer_tokens FROM chatterd_usage ORDER BY owner")
            #expect(usage == [["key k", "t", "3", "3", "0"], ["key k", "f", "3", "3", "0"]])
            #expect(try await stage.refusal(meter) == nil)
        }
    }

    @Test func removedReplyKeepsItsReservationAndFreesItsPlace() async throws {
        try await UsageStage.run { stage in
            let meter = UsageStage.meter(Allowance(concurrentReplies: 1))
            _ = try await stage.open("p", meter)
            try await stage.store.deleteConversation("app")
            #expect(try await stage.charges() == [["1", "1024", "t"]])
            _ = try await stage.open("p", meter)
            try await stage.store.replaceConversation(
                "app", with: [ModelMessage(role: "system", content: "s")])
            #expect(try await stage.charges() == [["1", "1024", "t"], ["1", "1024", "t"]])
        }
    }

    @Test func withdrawnPromptIsNotCounted() async throws {
        try await UsageStage.run { stage in
            let (opened, _) = try await stage.open("p", UsageStage.meter())
            #expect(try await stage.store.withdraw(opened.id, in: "app"))
            #expect(try await stage.charges().isEmpty)
        }
    }

    // MARK: - Requests outside of conversations

    @Test func passedRequestIsSettledByItsProcessOrAfterItsDeath() async throws {
        try await UsageStage.run { stage in
            let meter = UsageStage.meter(Allowance(tokensPerDay: 5_000, concurrentReplies: 1))
            let first = ReplyID.random()
            let quota = try await stage.usage.charge(meter, for: first, bytes: 40, answer: 20)
            #expect(quota?.tokens?.remaining == 5_000 - 11 - 20)
            #expect(
                await relayCode { _ = try await stage.usage.charge(meter, for: .random(), bytes: 1, answer: nil) }
                    == .access(.rateLimited))
            await stage.usage.settle(first, promptTokens: 5, answerTokens: 6)
            #expect(try await stage.charges() == [["5", "6", "t"]])
            _ = try await stage.usage.charge(meter, for: .random(), bytes: 40, answer: 20)
            try await stage.processes.kill(stage.store)
            _ = try await stage.open("p", meter, by: stage.processes.second)
            let keeper = Housekeeper(
                store: stage.processes.second, turns: TurnBoard(limits: RelayLimits()), retention: nil, adopt: {})
            for _ in 0..<5 {
                try await keeper.runRound()
            }
            #expect(try await stage.processes.sql("SELECT requests FROM chatterd_usage WHERE owner = ''") == [["2"]])
        }
    }

    // MARK: - Reports

    @Test func reportHasDaysAndPeople() async throws {
        try await UsageStage.run { stage in
            for (person, text) in [("ada", "12345678"), ("bob", "1234"), ("bob", "")] {
                let (opened, _) = try await stage.open(
                    "p", UsageStage.meter(person: person), in: ConversationKey(parsing: person))
                try await stage.store.closeTurn(opened.turn, with: opened.closing(text))
            }
            _ = try await stage.open("p", UsageStage.meter())
            try await stage.processes.sql("UPDATE chatterd_charges SET day = day - 2 WHERE answer_tokens = 0")
            let before = try await stage.usage.report(of: .source(.key("k")), days: 3, after: nil, limit: 2)
            _ = try await stage.processes.pool.run(UsageStatements.fold(limit: 100))
            let report = try await stage.usage.report(of: .source(.key("k")), days: 3, after: nil, limit: 2)
            #expect(report == before)
            #expect(report.days.map(\.requests) == [3, 1] && report.days.map(\.answerTokens) == [3, 0])
            #expect(report.days.map(\.running) == [1, 0] && report.days.map(\.reservedTokens) == [1_025, 0])
            let people = report.owners.map { ConversationKey(parsing: $0.name).owner.person }
            #expect(people == [nil, "ada"] && report.owners.map(\.requests) == [1, 1] && report.hasMore)
            let rest = try await stage.usage.report(
                of: .source(.key("k")), days: 3, after: Owner(app: "app", person: "ada"), limit: 2)
            #expect(rest.owners.map(\.requests) == [2] && !rest.hasMore)
            let person = try await stage.usage.report(
                of: .owner(Owner(app: "app", person: "bob")), days: 1, after: nil, limit: 2)
            #expect(person.days.map(\.requests) == [1] && person.owners.isEmpty)
            let none = try await stage.usage.report(of: .source(.key("other")), days: 3, after: nil, limit: 2)
            #expect(none.days.map(\.requests) == [0] && none.owners.isEmpty)
        }
    }
}
