import ChatterdLanguageModels
import Testing

@testable import ChatterdRelay

/// Whose turn it is at a model server with slots.
@Suite(.timeLimit(.minutes(30))) struct SlotQueueTests {
    @Test func freeSlotIsAcquiredAtOnceWithoutPolls() throws {
        let hall = Hall()
        let reply = hall.process.take("a")
        #expect(reply.hasSlot && reply.places.isEmpty)
        hall.clock.advance(by: .seconds(60))
        #expect(hall.process.store.calls == [.enter])
        reply.release()
        hall.clock.advance(by: .seconds(60))
        #expect(hall.process.store.calls == [.enter, .leave] && hall.slots.rows.isEmpty)
    }

    @Test func nextReplyOfTheSameProcessGetsTheSlotWithoutAPoll() throws {
        let hall = Hall()
        let first = hall.process.take("a")
        let second = hall.process.take("b")
        #expect(second.isWaiting && second.places == [QueuePlace(upstream: "u", position: 1, length: 1)])
        first.release()
        #expect(second.hasSlot)
        #expect(hall.process.store.calls == [.enter, .enter, .leave])
    }

    @Test func nextReplyOfAnotherProcessGetsTheSlotByItsPoll() throws {
        let hall = Hall()
        let other = hall.open()
        let first = hall.process.take("a")
        let second = other.take("b")
        hall.clock.advance(by: .seconds(2))
        #expect(second.isWaiting)
        first.release()
        #expect(second.isWaiting)
        hall.clock.advance(by: .milliseconds(50))
        #expect(second.hasSlot)
        let looks = other.store.count(.granted)
        hall.clock.advance(by: .seconds(10))
        #expect(other.store.count(.granted) == looks, "it looks on, and nobody waits")
    }

    @Test func onePollServesAllWaitingReplies() throws {
        let hall = Hall()
        hall.process.take("a")
        let waiting = (0..<20).map { hall.process.take("b\($0)") }
        hall.clock.advance(by: .milliseconds(950))
        let looks = hall.process.store.count(.granted) + hall.process.store.count(.survey)
        #expect(17...19 ~= looks, "\(looks)")
        #expect(waiting.allSatisfy { $0.isWaiting })
    }

    @Test func manyPromptsOfOneAppDoNotDelayAnother() throws {
        let hall = Hall()
        var order: [String] = []
        var running = hall.process.take("a")
        let many = (0..<20).map { _ in hall.process.take("a") }
        for _ in 0..<5 {
            running = try hall.passOn(from: running, to: many)
        }
        let few = (0..<2).map { _ in hall.process.take("b") }
        for _ in 0..<6 {
            running = try hall.passOn(from: running, to: many + few)
            order.append(running.ticket.appID)
        }
        #expect(order == ["b", "a", "b", "a", "a", "a"])
    }

    @Test func appWithoutPromptsDoesNotAccumulateTurns() throws {
        let hall = Hall()
        var running = hall.process.take("a")
        let many = (0..<10).map { _ in hall.process.take("a") }
        for _ in 0..<8 {
            running = try hall.passOn(from: running, to: many)
        }
        // It begins where the queue is now, not where it would be had it asked all the time.
        let late = (0..<4).map { _ in hall.process.take("b") }
        var order: [String] = []
        for _ in 0..<4 {
            running = try hall.passOn(from: running, to: many + late)
            order.append(running.ticket.appID)
        }
        #expect(order == ["b", "a", "b", "a"])
    }

    @Test func releasedTicketsHaveNoEffectOnTheOrder() throws {
        let hall = Hall()
        let running = hall.process.take("a")
        let given = (0..<10).map { _ in hall.process.take("b") }
        let last = hall.process.take("b")
        let other = hall.process.take("c")
        for reply in given {
            reply.release()
            #expect(reply.outcome == .cancelled)
        }
        running.release()
        #expect(last.hasSlot && other.isWaiting)
        let next = hall.process.take("b")
        #expect(next.isWaiting)
        last.release()
        #expect(other.hasSlot)
        other.release()
        #expect(next.hasSlot)
    }

    @Test func severalSlotsAreGrantedAtOnceAndNoneTwice() throws {
        let hall = Hall(slots: 3)
        let replies = (0..<9).map { hall.process.take("a\($0)") }
        #expect(replies.map(\.hasSlot) == [true, true, true] + Array(repeating: false, count: 6))
        replies[1].release()
        replies[1].release()
        #expect(replies.count { $0.hasSlot } == 4 && replies[3].hasSlot)
        #expect(hall.slots.running(at: "u") == 3)
    }

    @Test func changedPositionsAreReportedAtMostOncePerSecond() throws {
        let hall = Hall()
        var running = hall.process.take("a")
        let others = (0..<5).map { hall.process.take("b\($0)") }
        let last = hall.process.take("c")
        #expect(last.places.map(\.position) == [6] && last.places.map(\.length) == [6])
        running = try hall.passOn(from: running, to: others)
        running = try hall.passOn(from: running, to: others)
        hall.clock.advance(by: .milliseconds(900))
        #expect(last.places.count == 1)
        hall.clock.advance(by: .milliseconds(1_200))
        #expect(last.places.map(\.position) == [6, 4])
        hall.clock.advance(by: .seconds(5))
        #expect(last.places.map(\.position) == [6, 4])
    }

    @Test func additionalSlotsAreGrantedToWaitingReplies() throws {
        let hall = Hall()
        hall.process.take("a")
        let waiting = hall.process.take("b")
        hall.slotCount = 3
        let late = hall.process.take("c")
        #expect(waiting.hasSlot && late.hasSlot)
    }

    @Test func reducedSlotsApplyToWaitingReplies() throws {
        let hall = Hall(slots: 2)
        let replies = (0..<6).map { hall.process.take("a\($0)") }
        hall.process.queue.update(slots: ["u": 1])
        replies[0].release()
        #expect(hall.slots.running(at: "u") == 1 && !replies[2].hasSlot)
        replies[1].release()
        #expect(hall.slots.running(at: "u") == 1 && replies[2].hasSlot)
        // A reply that began before the change knows only what was then.
        let late = hall.process.take("b")
        #expect(hall.slots.running(at: "u") == 1 && late.isWaiting)
        hall.process.queue.update(slots: ["u": 3])
        hall.clock.advance(by: .seconds(1))
        #expect(hall.slots.running(at: "u") == 3)
    }

    @Test func slotOfADeadProcessIsFree() throws {
        let hall = Hall()
        let dying = hall.open()
        dying.take("a")
        let waiting = hall.process.take("b")
        hall.clock.advance(by: .seconds(5))
        #expect(waiting.isWaiting)
        hall.slots.dead = [dying.store.process]
        hall.clock.advance(by: .seconds(1))
        #expect(waiting.hasSlot)
    }

    @Test func adoptedTicketKeepsItsPosition() throws {
        let hall = Hall()
        let dying = hall.open()
        let running = hall.process.take("a")
        let left = dying.take("b")
        let late = hall.process.take("c")
        hall.slots.dead = [dying.store.process]
        let adopted = hall.process.take("b", reply: left.ticket.reply)
        #expect(adopted.places.map(\.position) == [1])
        running.release()
        #expect(adopted.hasSlot && late.isWaiting)
    }

    @Test func adoptedTicketLosesItsSlotAndKeepsItsPosition() throws {
        let hall = Hall()
        let dying = hall.open()
        let left = dying.take("a")
        let waiting = hall.process.take("b")
        let late = hall.process.take("c")
        hall.slots.dead = [dying.store.process]
        hall.clock.advance(by: .seconds(2))
        #expect(waiting.hasSlot)
        let adopted = hall.process.take("a", reply: left.ticket.reply)
        #expect(adopted.isWaiting && hall.slots.running(at: "u") == 1)
        waiting.release()
        #expect(adopted.hasSlot && late.isWaiting)
    }

    @Test func releaseByTheFormerOwnerHasNoEffect() throws {
        let hall = Hall()
        let slow = hall.open()
        let left = slow.take("a")
        hall.slots.dead = [slow.store.process]
        let adopted = hall.process.take("a", reply: left.ticket.reply)
        #expect(adopted.hasSlot)
        left.release()
        #expect(hall.slots.rows[adopted.ticket.key]?.isGranted == true)
    }

    @Test func replyWithoutItsConversationStopsWaiting() throws {
        let hall = Hall()
        hall.process.take("a")
        let waiting = hall.process.take("b")
        let late = hall.process.take("c")
        hall.slots.gone = [waiting.ticket.reply]
        hall.slots.rows[waiting.ticket.key] = nil
        hall.clock.advance(by: .seconds(2))
        #expect(waiting.outcome == .conversationReplaced && late.isWaiting)
        #expect(late.places.map(\.position) == [2, 1] && hall.slots.rows.count == 2)
    }

    @Test func removedTicketIsEnteredAgain() throws {
        let hall = Hall()
        let running = hall.process.take("a")
        let waiting = hall.process.take("b")
        hall.slots.rows[waiting.ticket.key] = nil
        hall.clock.advance(by: .seconds(2))
        running.release()
        #expect(waiting.hasSlot)
    }
}
