import ChatterdBasics
import ChatterdChat
import ChatterdPostgres
import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore

/// The conditions under which a process counts as dead.
@Suite(.timeLimit(.minutes(30))) struct LeaseStoreTests {
    /// Leases that do not prove steadiness: renewed for less than a lifetime, with a recent gap, and by an earlier version.
    static let unsteady = [
        "'infinity', now() + interval '1 hour'", "now() + interval '3 s' - interval '1 hour', '-infinity'",
        "'infinity', NULL",
    ]

    @Test(arguments: unsteady)
    func processIsNotDeadUntilALeaseWasRenewedForALifetime(lease: String) async throws {
        try await StoreProcesses.run { processes in
            let (living, other) = (processes.first, processes.second)
            let opened = try await living.open("p")
            let again = try await living.open("p", in: "again", onInterrupt: .regenerate)
            // A failover took longer than the leases: all have expired, and one process is the first to come through.
            try await processes.sql(
                """
                UPDATE chatterd_processes SET expires_at = '-infinity';
                INSERT INTO chatterd_processes (id, expires_at, since) VALUES (gen_random_uuid(), \(lease))
                """)
            let keeper = Housekeeper(store: other, turns: TurnBoard(limits: RelayLimits()), retention: nil) {
                #expect(Bool(false), "no process is dead")
            }
            try await keeper.runRound()
            #expect(try await other.settleTurn(opened.turn, isAbandonedHere: false, closesRegenerated: false) == false)
            #expect(try await other.settleTurn(again.turn, isAbandonedHere: false, closesRegenerated: true) == false)
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
    func gapBetweenTwoRenewalsRestartsTheSteadyTime(isGap: Bool) async throws {
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

    @Test func leaseIsLateLongBeforeItExpires() {
        let lease = ProcessLease(id: .random())
        let start = Instant(nanoseconds: 7)
        #expect(lease.isLate(at: start))
        lease.renewed(at: start)
        let late = start + ProcessLease.renewalInterval * 3 / 2
        let before = Instant(nanoseconds: late.nanoseconds - 1)
        #expect(!lease.isLate(at: start) && !lease.isLate(at: before) && lease.isLate(at: late))
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

    /// The process seemed dead when the search began, and has come back since.
    @Test func processThatIsAliveKeepsItsReplies() async throws {
        try await StoreProcesses.run { processes in
            let (living, other) = (processes.first, processes.second)
            let opened = try await living.open("p")
            try await processes.proveSteadiness()
            let pool = processes.pool
            _ = try await pool.run(LeaseStatements.releaseHeld(by: living.lease.id, before: "infinity"))
            #expect(try await !other.record(opened).isAbandoned)
            _ = try await pool.run(LeaseStatements.releaseDead(opened.turn))
            #expect(try await !other.record(opened).isAbandoned)
            _ = try await pool.run(LeaseStatements.release(opened.turn, owner: other.lease.id))
            #expect(try await !other.record(opened).isAbandoned)
            _ = try await pool.run(LeaseStatements.release(opened.turn, owner: living.lease.id))
            #expect(try await other.record(opened).isAbandoned)
        }
    }

    @Test func repliesOfTheSameTimeAreExaminedTogether() async throws {
        try await StoreProcesses.run { processes in
            let dead = processes.first
            _ = try await dead.open("p")
            // These are more replies than one query examines.
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
                time = try await processes.pool.run(
                    LeaseStatements.releaseHeld(by: dead.lease.id, before: before)
                ).first?.nextTime
            }
            #expect(try await processes.sql("SELECT count(DISTINCT holder) FROM chatts") == [["1"]])
        }
    }

    @Test func replyOfAProcessWithoutLeaseIsRegenerated() async throws {
        try await StoreProcesses.run { processes in
            let (dead, heir) = (processes.first, processes.second)
            let opened = try await dead.open("p", onInterrupt: .regenerate)
            try await processes.sql("DELETE FROM chatterd_processes")
            try await processes.proveSteadiness()
            #expect(try await heir.adoptAbandoned(limit: 9, except: [], onClaim: { _, _ in }).isEmpty)
            // A waiting prompt finds the reply, and leaves it to a process with room.
            #expect(try await !heir.settleTurn(opened.turn, isAbandonedHere: false, closesRegenerated: false))
            #expect(try await heir.adoptAbandoned(limit: 9, except: [], onClaim: { _, _ in }).map(\.id) == [opened.id])
        }
    }
}
