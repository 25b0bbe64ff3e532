import ChatterdChat
import Testing

@testable import ChatterdRelay

/// Queues whose store is unavailable or loses confirmations, and the limits of queues.
@Suite(.timeLimit(.minutes(30))) struct SlotOutageTests {
    @Test func unconfirmedGrantIsFoundAgain() throws {
        let cluster = SlotCluster()
        cluster.process.store.faults[.enter] = [.lost]
        let reply = cluster.process.request("a")
        #expect(reply.isWaiting)
        cluster.clock.advance(by: .milliseconds(50))
        #expect(reply.hasSlot && cluster.process.store.count(.enter) == 2)
    }

    @Test func slotWithAnUnconfirmedGrantIsFoundByTheNextPoll() throws {
        let cluster = SlotCluster()
        let first = cluster.process.request("a")
        let second = cluster.process.request("b")
        cluster.process.store.faults[.leave] = [.lost]
        first.release()
        #expect(second.isWaiting)
        cluster.clock.advance(by: .milliseconds(50))
        #expect(second.hasSlot)
    }

    @Test func turnWaitsForTheStoreUntilTheTimeout() throws {
        let cluster = SlotCluster()
        cluster.process.store.isUnavailable = true
        let short = cluster.process.request("a")
        cluster.clock.advance(by: .seconds(8))
        #expect(short.isWaiting)
        cluster.process.store.isUnavailable = false
        cluster.clock.advance(by: .seconds(1))
        #expect(short.hasSlot)

        cluster.process.store.isUnavailable = true
        let long = cluster.process.request("b")
        cluster.clock.advance(by: .seconds(12))
        #expect(long.outcome == .storeUnavailable)
    }

    @Test func waitingTurnSurvivesAShortOutageOfTheStore() throws {
        let cluster = SlotCluster()
        let other = cluster.addProcess()
        let running = other.request("a")
        let waiting = cluster.process.request("b")
        cluster.process.store.isUnavailable = true
        cluster.clock.advance(by: .seconds(8))
        #expect(waiting.isWaiting)
        running.release()
        cluster.process.store.isUnavailable = false
        cluster.clock.advance(by: .seconds(1))
        #expect(waiting.hasSlot)
    }

    @Test func waitingTurnFailsInALongOutageAndItsTicketIsRemovedLater() throws {
        let cluster = SlotCluster()
        let other = cluster.addProcess()
        other.request("a")
        let waiting = cluster.process.request("b")
        cluster.process.store.isUnavailable = true
        cluster.clock.advance(by: .seconds(15))
        #expect(waiting.outcome == .storeUnavailable)
        #expect(cluster.slots.rows.count == 2)
        cluster.process.store.isUnavailable = false
        cluster.clock.advance(by: .seconds(3))
        #expect(cluster.slots.rows.count == 1)
    }

    @Test func slotIsReleasedAfterAnOutage() throws {
        let cluster = SlotCluster()
        let reply = cluster.process.request("a")
        cluster.process.store.isUnavailable = true
        reply.release()
        cluster.clock.advance(by: .seconds(600))
        #expect(cluster.slots.rows.count == 1)
        let tries = cluster.process.store.count(.leave)
        #expect(tries < 320, "\(tries)")
        cluster.process.store.isUnavailable = false
        cluster.clock.advance(by: .seconds(3))
        #expect(cluster.slots.rows.isEmpty)
    }

    @Test func releaseDuringTheEntryLeavesNoTicket() throws {
        let cluster = SlotCluster()
        cluster.process.store.faults[.enter] = [.hang]
        let reply = cluster.process.request("a")
        reply.release()
        #expect(reply.outcome == .cancelled)
        cluster.process.store.release(.enter)
        cluster.clock.settle()
        #expect(cluster.slots.rows.isEmpty && cluster.process.store.calls == [.enter, .leave])
    }

    @Test func replyMayAcquireAgainBeforeItsTicketIsRemoved() throws {
        let cluster = SlotCluster()
        let first = cluster.process.request("a")
        cluster.process.store.faults[.leave] = [.hang]
        first.release()
        let again = cluster.process.request("a", reply: first.ticket.reply)
        #expect(again.isWaiting)
        cluster.process.store.release(.leave)
        cluster.clock.settle()
        #expect(again.hasSlot && cluster.process.store.calls == [.enter, .leave, .enter])
    }

    @Test func oldAnswerOfTheStoreDoesNotGrantALaterTicket() throws {
        let cluster = SlotCluster()
        let other = cluster.addProcess()
        let first = cluster.process.request("a")
        cluster.process.request("b").release()
        let waiting = cluster.process.request("c")
        // A poll that has read the slot of the first reply is in progress.
        cluster.clock.advance(by: .milliseconds(200))
        cluster.process.store.faults[.granted] = [.hang]
        cluster.clock.advance(by: .milliseconds(50))
        let next = other.request("d")
        first.release()
        #expect(waiting.hasSlot)
        let again = cluster.process.request("a", reply: first.ticket.reply)
        cluster.process.store.release(.granted)
        cluster.clock.settle()
        #expect(again.isWaiting && next.isWaiting)
        waiting.release()
        cluster.clock.advance(by: .seconds(1))
        #expect(next.hasSlot && again.isWaiting)
    }

    @Test(arguments: [false, true])
    func ticketEnteredAfterItsReleaseIsRemoved(hasSlot: Bool) throws {
        let cluster = SlotCluster()
        cluster.process.store.faults[.enter] = [.unavailable]
        let reply = cluster.process.request("a")
        reply.release()
        #expect(cluster.process.store.calls == [.enter, .leave])
        // The store commits the delayed entry now.
        let process = cluster.process.store.process
        cluster.slots.enter(reply.ticket, holder: process)
        if hasSlot {
            #expect(cluster.slots.grant(at: "u", slots: 1, to: process) == [reply.ticket.key])
        }
        cluster.clock.advance(by: .seconds(2))
        #expect(cluster.slots.rows.isEmpty)
        cluster.clock.advance(by: .seconds(40))
        let calls = cluster.process.store.calls.count
        cluster.clock.advance(by: .seconds(40))
        #expect(cluster.process.store.calls.count == calls, "the queue still polls")
    }

    @Test func replyThatAcquiresTwiceIsRefusedAndKeepsItsPosition() throws {
        let cluster = SlotCluster()
        let running = cluster.process.request("a")
        let waiting = cluster.process.request("b")
        #expect(cluster.process.request("b", reply: waiting.ticket.reply).outcome == .internal)
        running.release()
        #expect(waiting.hasSlot)
    }

    @Test func unreleasedTicketIsAbandonedAtTheEndOfTheProcess() throws {
        let cluster = SlotCluster()
        let reply = cluster.process.request("a")
        cluster.process.store.isUnavailable = true
        reply.release()
        cluster.clock.advance(by: .seconds(5))
        cluster.process.queue.end()
        cluster.clock.settle()
        let tries = cluster.process.store.calls.count
        cluster.clock.advance(by: .seconds(60))
        #expect(cluster.process.store.calls.count == tries)
    }

    // MARK: - Admission

    @Test func queueIsLimited() throws {
        let cluster = SlotCluster(slots: 2)
        cluster.slots.hold = .seconds(30)
        cluster.process.request("a")
        cluster.process.request("b")
        cluster.process.request("c")
        #expect(cluster.process.reserveAdmission(limit: 2) == nil)
        cluster.process.request("d")
        let refusal = try #require(cluster.process.reserveAdmission(limit: 2))
        #expect(refusal.code == .overloaded)
        // Two replies wait and one more arrives: three times 30 s on two slots.
        #expect(refusal.retryAfter == .seconds(46))
    }

    @Test func admittedPromptsCountBeforeTheyAreInTheQueue() throws {
        let cluster = SlotCluster()
        let refused = (0..<5).map { _ in cluster.process.reserveAdmission(limit: 2) }
        #expect(refused.map { $0 == nil } == [true, true, true, false, false])
        // Admitted prompts that never entered the queue no longer count.
        cluster.clock.advance(by: .seconds(3))
        #expect(cluster.process.reserveAdmission(limit: 2) == nil)
        cluster.clock.advance(by: .seconds(3))
        for name in ["a", "b"] {
            #expect(cluster.process.reserveAdmission(limit: 2) == nil)
            cluster.process.request(name)
        }
        #expect(cluster.process.reserveAdmission(limit: 2) == nil)
        #expect(cluster.process.reserveAdmission(limit: 2)?.code == .overloaded)
    }

    @Test func releasedAdmissionIsAvailableToOthers() throws {
        let cluster = SlotCluster()
        for _ in 0..<5 {
            #expect(cluster.process.reserveAdmission(limit: 0) == nil)
            cluster.process.releaseAdmission()
        }
        #expect(cluster.process.reserveAdmission(limit: 0) == nil)
        #expect(cluster.process.reserveAdmission(limit: 0)?.code == .overloaded)
    }

    @Test func serverWithoutSlotsAdmitsEveryPrompt() throws {
        let cluster = SlotCluster()
        cluster.process.store.isUnavailable = true
        #expect(cluster.process.reserveAdmission(slots: nil, limit: 0) == nil)
        #expect(cluster.process.reserveAdmission(slots: 1, limit: 0)?.code == .storeUnavailable)
        #expect(cluster.process.store.calls == [.load])
    }
}
