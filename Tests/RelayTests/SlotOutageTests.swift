import ChatterdLanguageModels
import Testing

@testable import ChatterdRelay

/// Queues whose store is away, or loses confirmations; and how many may wait.
@Suite(.timeLimit(.minutes(30))) struct SlotOutageTests {
    @Test func unconfirmedGrantIsFoundAgain() throws {
        let hall = Hall()
        hall.process.store.faults[.enter] = [.lost]
        let reply = hall.process.take("a")
        #expect(reply.isWaiting)
        hall.clock.advance(by: .milliseconds(50))
        #expect(reply.hasSlot && hall.process.store.count(.enter) == 2)
    }

    @Test func slotWithAnUnconfirmedGrantIsFoundByTheNextPoll() throws {
        let hall = Hall()
        let first = hall.process.take("a")
        let second = hall.process.take("b")
        hall.process.store.faults[.leave] = [.lost]
        first.release()
        #expect(second.isWaiting)
        hall.clock.advance(by: .milliseconds(50))
        #expect(second.hasSlot)
    }

    @Test func turnWaitsForTheStoreUntilTheTimeout() throws {
        let hall = Hall()
        hall.process.store.isAway = true
        let patient = hall.process.take("a")
        hall.clock.advance(by: .seconds(8))
        #expect(patient.isWaiting)
        hall.process.store.isAway = false
        hall.clock.advance(by: .seconds(1))
        #expect(patient.hasSlot)

        hall.process.store.isAway = true
        let unlucky = hall.process.take("b")
        hall.clock.advance(by: .seconds(12))
        #expect(unlucky.outcome == .storeUnavailable)
    }

    @Test func waitingTurnSurvivesAShortOutageOfTheStore() throws {
        let hall = Hall()
        let other = hall.open()
        let running = other.take("a")
        let waiting = hall.process.take("b")
        hall.process.store.isAway = true
        hall.clock.advance(by: .seconds(8))
        #expect(waiting.isWaiting)
        running.release()
        hall.process.store.isAway = false
        hall.clock.advance(by: .seconds(1))
        #expect(waiting.hasSlot)
    }

    @Test func waitingTurnFailsInALongOutageAndItsTicketIsRemovedLater() throws {
        let hall = Hall()
        let other = hall.open()
        other.take("a")
        let waiting = hall.process.take("b")
        hall.process.store.isAway = true
        hall.clock.advance(by: .seconds(15))
        #expect(waiting.outcome == .storeUnavailable)
        #expect(hall.slots.rows.count == 2)
        hall.process.store.isAway = false
        hall.clock.advance(by: .seconds(3))
        #expect(hall.slots.rows.count == 1)
    }

    @Test func slotIsReleasedAfterAnOutage() throws {
        let hall = Hall()
        let reply = hall.process.take("a")
        hall.process.store.isAway = true
        reply.release()
        hall.clock.advance(by: .seconds(600))
        #expect(hall.slots.rows.count == 1)
        let tries = hall.process.store.count(.leave)
        #expect(tries < 320, "\(tries)")
        hall.process.store.isAway = false
        hall.clock.advance(by: .seconds(3))
        #expect(hall.slots.rows.isEmpty)
    }

    @Test func releaseDuringTheEntryLeavesNoTicket() throws {
        let hall = Hall()
        hall.process.store.faults[.enter] = [.hang]
        let reply = hall.process.take("a")
        reply.release()
        #expect(reply.outcome == .cancelled)
        hall.process.store.release(.enter)
        hall.clock.settle()
        #expect(hall.slots.rows.isEmpty && hall.process.store.calls == [.enter, .leave])
    }

    @Test func replyMayAcquireAgainBeforeItsTicketIsRemoved() throws {
        let hall = Hall()
        let first = hall.process.take("a")
        hall.process.store.faults[.leave] = [.hang]
        first.release()
        let again = hall.process.take("a", reply: first.ticket.reply)
        #expect(again.isWaiting)
        hall.process.store.release(.leave)
        hall.clock.settle()
        #expect(again.hasSlot && hall.process.store.calls == [.enter, .leave, .enter])
    }

    @Test func oldAnswerOfTheStoreDoesNotGrantALaterTicket() throws {
        let hall = Hall()
        let other = hall.open()
        let first = hall.process.take("a")
        hall.process.take("b").release()
        let waiting = hall.process.take("c")
        // A look is under way that has seen the first one's slot.
        hall.clock.advance(by: .milliseconds(200))
        hall.process.store.faults[.granted] = [.hang]
        hall.clock.advance(by: .milliseconds(50))
        let next = other.take("d")
        first.release()
        #expect(waiting.hasSlot)
        let again = hall.process.take("a", reply: first.ticket.reply)
        hall.process.store.release(.granted)
        hall.clock.settle()
        #expect(again.isWaiting && next.isWaiting)
        waiting.release()
        hall.clock.advance(by: .seconds(1))
        #expect(next.hasSlot && again.isWaiting)
    }

    @Test(arguments: [false, true])
    func ticketEnteredAfterItsReleaseIsRemoved(hasSlot: Bool) throws {
        let hall = Hall()
        hall.process.store.faults[.enter] = [.away]
        let reply = hall.process.take("a")
        reply.release()
        #expect(hall.process.store.calls == [.enter, .leave])
        // The server had it in hand all the time.
        let process = hall.process.store.process
        hall.slots.enter(reply.ticket, holder: process)
        if hasSlot {
            #expect(hall.slots.grant(at: "u", slots: 1, to: process) == [reply.ticket.key])
        }
        hall.clock.advance(by: .seconds(2))
        #expect(hall.slots.rows.isEmpty)
        hall.clock.advance(by: .seconds(40))
        let calls = hall.process.store.calls.count
        hall.clock.advance(by: .seconds(40))
        #expect(hall.process.store.calls.count == calls, "it looks for ever")
    }

    @Test func replyThatAcquiresTwiceIsRefusedAndKeepsItsPosition() throws {
        let hall = Hall()
        let running = hall.process.take("a")
        let waiting = hall.process.take("b")
        #expect(hall.process.take("b", reply: waiting.ticket.reply).outcome == .internal)
        running.release()
        #expect(waiting.hasSlot)
    }

    @Test func unreleasedTicketIsAbandonedAtTheEndOfTheProcess() throws {
        let hall = Hall()
        let reply = hall.process.take("a")
        hall.process.store.isAway = true
        reply.release()
        hall.clock.advance(by: .seconds(5))
        hall.process.queue.end()
        hall.clock.settle()
        let tries = hall.process.store.calls.count
        hall.clock.advance(by: .seconds(60))
        #expect(hall.process.store.calls.count == tries)
    }

    // MARK: - Room

    @Test func queueIsLimited() throws {
        let hall = Hall(slots: 2)
        hall.slots.hold = .seconds(30)
        hall.process.take("a")
        hall.process.take("b")
        hall.process.take("c")
        #expect(hall.process.reserveAdmission(limit: 2) == nil)
        hall.process.take("d")
        let refusal = try #require(hall.process.reserveAdmission(limit: 2))
        #expect(refusal.code == .overloaded)
        // Two wait and one comes: three times 30 s on two slots.
        #expect(refusal.retryAfter == .seconds(46))
    }

    @Test func admittedPromptsCountBeforeTheyAreInTheQueue() throws {
        let hall = Hall()
        let refused = (0..<5).map { _ in hall.process.reserveAdmission(limit: 2) }
        #expect(refused.map { $0 == nil } == [true, true, true, false, false])
        // Those that were let in and never came count no more.
        hall.clock.advance(by: .seconds(3))
        #expect(hall.process.reserveAdmission(limit: 2) == nil)
        hall.clock.advance(by: .seconds(3))
        for name in ["a", "b"] {
            #expect(hall.process.reserveAdmission(limit: 2) == nil)
            hall.process.take(name)
        }
        #expect(hall.process.reserveAdmission(limit: 2) == nil)
        #expect(hall.process.reserveAdmission(limit: 2)?.code == .overloaded)
    }

    @Test func releasedAdmissionIsAvailableToOthers() throws {
        let hall = Hall()
        for _ in 0..<5 {
            #expect(hall.process.reserveAdmission(limit: 0) == nil)
            hall.process.releaseAdmission()
        }
        #expect(hall.process.reserveAdmission(limit: 0) == nil)
        #expect(hall.process.reserveAdmission(limit: 0)?.code == .overloaded)
    }

    @Test func serverWithoutSlotsAdmitsEveryPrompt() throws {
        let hall = Hall()
        hall.process.store.isAway = true
        #expect(hall.process.reserveAdmission(slots: nil, limit: 0) == nil)
        #expect(hall.process.reserveAdmission(slots: 1, limit: 0)?.code == .storeUnavailable)
        #expect(hall.process.store.calls == [.load])
    }
}
