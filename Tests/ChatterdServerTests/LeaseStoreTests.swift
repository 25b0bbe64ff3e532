import ChatterdBasics
import ChatterdLanguageModels
import ChatterdModelServers
import ChatterdPostgres
import ChatterdRelay
import Testing

@testable import ChatterdCommand
@testable import ChatterdConfiguration
@testable import ChatterdDevelopmentCluster
@testable import ChatterdJSONLog
@testable import ChatterdPostgresStore
@testable import ChatterdServer

/// When a process is taken for dead.
@Suite(.timeLimit(.minutes(30))) struct LeaseStoreTests {
    /// Leases that prove nothing: renewed for less than a lifetime, with a gap just now, and by an earlier version.
    static let unsteady = [
        "'infinity', now() + interval '1 hour'", "now() + interval '3 s' - interval '1 hour', '-infinity'",
        "'infinity', NULL",
    ]

    @Test(arguments: unsteady)
    func processIsNotDeadUntilALeaseWasRenewedForALifetime(lease: String) async throws {
        try await StoreProcesses.run { processes in
            let (living, other) = (processes.first, processes.second)
            let opened = try await living.open("p")
            let again = try await living.open("p", appID: "again", onInterrupt: .regenerate)
            // A failover took longer than the leases: all have expired, and one process is the first to come through.
            try await processes.sql(
                """
                UPDATE chatterd_processes SET expires_at = '-infinity';
                INSERT INTO chatterd_processes (id, expires_at, since) VALUES (gen_random_uuid(), \(lease))
                """)
            let keeper = Housekeeper(store: other, turns: TurnBoard(limits: RelayLimits()), retention: nil) {
                #expect(Bool(false), "nothing is abandoned")
            }
            try await keeper.runRound()
            #expect(try await other.settleTurn(opened.turn, isAbandoned: false, isUnwanted: false) == false)
            #expect(try await other.settleTurn(again.turn, isAbandoned: false, isUnwanted: true) == false)
            #expect(try await other.adoptAbandoned(limit: 9, except: [], onClaim: { _, _ in }).isEmpty)
            #expect(try await !other.record(opened).isAbandoned)
            try await living.closeTurn(opened.turn, with: opened.closing("whole"))
            #expect(try await other.record(opened).state == .complete)
            // From then on it is dead.
            try await processes.proveSteadiness()
            #expect(try await other.record(again).isAbandoned)
        }
    }

    @Test(arguments: [true, false])
    func gapBetweenTwoRenewalsBeginsTheTimeAnew(isGap: Bool) async throws {
        try await StoreProcesses.run { processes in
            let lease = processes.first.lease
            _ = try await processes.pool.run(lease.renewal)
            // The trigger of the tests adds an hour.
            let left = isGap ? "3 s" : "1 day"
            try await processes.sql(
                """
                UPDATE chatterd_processes
                SET since = '-infinity', expires_at = now() + interval '\(left)' - interval '1 hour'
                """)
            _ = try await processes.pool.run(lease.renewal)
            #expect(
                try await processes.sql("SELECT since = '-infinity' FROM chatterd_processes") == [[isGap ? "f" : "t"]])
        }
    }

    @Test func leaseIsLateLongBeforeItRunsOut() {
        let lease = ProcessLease(id: .random())
        let start = Instant(nanoseconds: 7)
        #expect(lease.isLate(at: start))
        lease.renewed(at: start)
        let late = start + ProcessLease.renewal * 3 / 2
        #expect(
            !lease.isLate(at: start) && !lease.isLate(at: Instant(nanoseconds: late.nanoseconds - 1))
                && lease.isLate(at: late))
        #expect(late - start < .seconds(ProcessLease.lifetime))
        // A renewal that was sent earlier and is confirmed later does not shorten the lease.
        lease.renewed(at: late)
        lease.renewed(at: start)
        #expect(!lease.isLate(at: late))
    }

    @Test func renewalProlongsALeaseByItsLifetime() async throws {
        try await StoreProcesses.run { processes in
            try await processes.sql("ALTER TABLE chatterd_processes DISABLE TRIGGER prolong")
            let lifetime =
                "SELECT expires_at - since = interval '\(ProcessLease.lifetime) s', count(*) OVER () FROM chatterd_processes"
            _ = try await processes.pool.run(processes.first.lease.renewal)
            #expect(try await processes.sql(lifetime) == [["t", "1"]])
            try await processes.sql("UPDATE chatterd_processes SET expires_at = '2020-01-02', since = '2020-01-01'")
            _ = try await processes.pool.run(processes.first.lease.renewal)
            #expect(try await processes.sql(lifetime) == [["t", "1"]])
        }
    }

    /// The process seemed dead when the look began, and has come back since.
    @Test func processThatIsAliveKeepsItsReplies() async throws {
        try await StoreProcesses.run { processes in
            let (living, other) = (processes.first, processes.second)
            let opened = try await living.open("p")
            try await processes.proveSteadiness()
            let place: [Parameter] = [.text("app"), .int8(opened.turn.number)]
            for query in [
                Query(LeaseStatements.releaseHeld, living.lease.parameter, .text("infinity")),
                Query(LeaseStatements.releaseDead, parameters: place),
                Query(LeaseStatements.release, parameters: place + [other.lease.parameter]),
            ] {
                _ = try await processes.pool.run(query)
                #expect(try await !other.record(opened).isAbandoned)
            }
            _ = try await processes.pool.run(
                Query(LeaseStatements.release, parameters: place + [living.lease.parameter]))
            #expect(try await other.record(opened).isAbandoned)
        }
    }

    @Test func repliesOfTheSameTimeAreLookedThroughTogether() async throws {
        try await StoreProcesses.run { processes in
            let dead = processes.first
            _ = try await dead.open("p")
            // These are more replies than one look examines.
            try await processes.sql(
                """
                INSERT INTO chatts (appid, seq, turn, name, message, state, id, holder, time)
                SELECT 'many', n, n, 'assistant', '', 'streaming', gen_random_uuid(),
                    (SELECT holder FROM chatts WHERE appid = 'app' AND turn = seq), '2020-01-01'
                FROM generate_series(1, 5010) n
                """)
            try await processes.kill(dead)
            var time: String? = "infinity"
            while let before = time {
                let piece = try await processes.pool.run(
                    Query(LeaseStatements.releaseHeld, dead.lease.parameter, .text(before)))
                time = piece.string(0, 1)
            }
            #expect(try await processes.sql("SELECT count(DISTINCT holder) FROM chatts") == [["1"]])
        }
    }

    @Test func replyWithoutAnyLeaseIsMadeAgain() async throws {
        try await StoreProcesses.run { processes in
            let (dead, heir) = (processes.first, processes.second)
            let opened = try await dead.open("p", onInterrupt: .regenerate)
            try await processes.sql("DELETE FROM chatterd_processes")
            try await processes.proveSteadiness()
            #expect(try await heir.adoptAbandoned(limit: 9, except: [], onClaim: { _, _ in }).isEmpty)
            // A prompt that waits for it finds it, and leaves it to whoever has room.
            #expect(try await !heir.settleTurn(opened.turn, isAbandoned: false, isUnwanted: false))
            #expect(try await heir.adoptAbandoned(limit: 9, except: [], onClaim: { _, _ in }).map(\.id) == [opened.id])
        }
    }
}
