import ChatterdChat
import ChatterdPostgres
import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore

/// Replies that a stopping process hands over to other processes.
@Suite(.timeLimit(.minutes(30))) struct HandoverStoreTests {
    @Test func handedOverReplyIsAdoptedByAnotherProcess() async throws {
        try await StoreProcesses.run { processes in
            let (stopped, heir) = (processes.first, processes.second)
            let opened = try await stopped.open("p", options: "\"seed\":1")
            #expect(try await stopped.handOver(opened.turn, id: opened.id, attempt: 1, isEmpty: true))
            // The handover needs no dead process. A round and a prompt that waits for the reply do not close it.
            let keeper = Housekeeper(
                store: heir, turns: TurnBoard(limits: RelayLimits()), retention: nil, adopt: {})
            try await keeper.runRound()
            #expect(try await !heir.settleTurn(opened.turn, isAbandonedHere: false, closesRegenerated: false))
            #expect(try await heir.record(opened).state == nil)
            // The former owner can no longer close it.
            #expect(try await !stopped.handOver(opened.turn, id: opened.id, attempt: 1, isEmpty: true))
            #expect(
                await relayCode { try await stopped.closeTurn(opened.turn, with: opened.closing("late")) }
                    == .interrupted)
            let adopted = try await heir.adoptAbandoned(limit: 9, except: [], onClaim: { _, _ in })
            #expect(adopted.map(\.id) == [opened.id] && adopted.map(\.attempt) == [2])
            #expect(
                try await processes.sql("SELECT coalesce(adoptions, 0), handovers FROM chatts WHERE turn = seq")
                    == [["0", "1"]])
        }
    }

    @Test func replyWithTextIsHandedOverOnlyForRegeneration() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let usual = try await store.open("p")
            let again = try await store.open("p", in: "again", onInterrupt: .regenerate)
            #expect(try await !store.handOver(usual.turn, id: usual.id, attempt: 1, isEmpty: false))
            #expect(try await store.handOver(again.turn, id: again.id, attempt: 1, isEmpty: false))
        }
    }

    @Test func onlyTheOwnerHandsAReplyOver() async throws {
        try await StoreProcesses.run { processes in
            let (store, other) = (processes.first, processes.second)
            let opened = try await store.open("p")
            #expect(try await !other.handOver(opened.turn, id: opened.id, attempt: 1, isEmpty: true))
            #expect(try await !store.handOver(opened.turn, id: opened.id, attempt: 2, isEmpty: true))
            try await store.closeTurn(opened.turn, with: opened.closing("done"))
            #expect(try await !store.handOver(opened.turn, id: opened.id, attempt: 1, isEmpty: true))
            #expect(try await other.record(opened).state == .complete)
        }
    }

    @Test func stoppedReplyIsNotHandedOver() async throws {
        try await StoreProcesses.run { processes in
            let (store, other) = (processes.first, processes.second)
            let before = try await store.open("p")
            try await other.signal(.stop, to: try await other.record(before))
            #expect(try await !store.handOver(before.turn, id: before.id, attempt: 1, isEmpty: true))
            let after = try await store.open("p", in: "after")
            #expect(try await store.handOver(after.turn, id: after.id, attempt: 1, isEmpty: true))
            try await other.signal(.stop, to: try await other.record(after))
            #expect(try await other.adoptAbandoned(limit: 9, except: [], onClaim: { _, _ in }).isEmpty)
            _ = try await processes.pool.run(SettlementStatements.settleAbandoned(limit: 9))
            #expect(try await other.record(after).state == .interrupted)
        }
    }

    @Test func replyIsHandedOverAtMostTenTimes() async throws {
        try await StoreProcesses.run { processes in
            let opened = try await processes.first.open("p", onInterrupt: .regenerate)
            for attempt in 1...10 {
                let isFirst = attempt % 2 == 1
                let (from, to) = (processes.stores[isFirst ? 0 : 1], processes.stores[isFirst ? 1 : 0])
                #expect(try await from.handOver(opened.turn, id: opened.id, attempt: attempt, isEmpty: true))
                #expect(try await to.adoptAbandoned(limit: 1, except: [], onClaim: { _, _ in }).count == 1)
            }
            #expect(try await !processes.first.handOver(opened.turn, id: opened.id, attempt: 11, isEmpty: true))
            // The reply can still survive the deaths of two processes.
            try await processes.kill(processes.first, isNoticed: true)
            #expect(try await processes.second.adoptAbandoned(limit: 1, except: [], onClaim: { _, _ in }).count == 1)
        }
    }
}
