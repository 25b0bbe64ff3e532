import LanguageModels
import Postgres
import Relay
import Testing

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
