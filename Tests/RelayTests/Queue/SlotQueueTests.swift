import ChatterdChat
import Testing

@testable import ChatterdRelay

/// The order of replies at a model server with slots.
@Suite(.timeLimit(.minutes(30))) struct SlotQueueTests {
    @Test func freeSlotIsAcquiredAtOnceWithoutPolls() throws {
        let cluster = SlotCluster()
        let reply = cluster.process.request("a")
        #expect(reply.hasSlot && reply.positions.isEmpty)
        cluster.clock.advance(by: .seconds(60))
        #expect(cluster.process.store.calls == [.enter])
        reply.release()
        cluster.clock.advance(by: .seconds(60))
        #expect(cluster.process.store.calls == [.enter, .leave] && cluster.slots.rows.isEmpty)
    }

    @Test func nextReplyOfTheSameProcessGetsTheSlotWithoutAPoll() throws {
        let cluster = SlotCluster()
        let first = cluster.process.request("a")
        let second = cluster.process.request("b")
        #expect(second.isWaiting && second.positions == [QueuePosition(upstream: "u", position: 1, length: 1)])
        first.release()
        #expect(second.hasSlot)
        #expect(cluster.process.store.calls == [.enter, .enter, .leave])
    }

    @Test func nextReplyOfAnotherProcessGetsTheSlotByItsPoll() throws {
        let cluster = SlotCluster()
        let other = cluster.addProcess()
        let first = cluster.process.request("a")
        let second = other.request("b")
        cluster.clock.advance(by: .seconds(2))
        #expect(second.isWaiting)
        first.release()
        #expect(second.isWaiting)
        cluster.clock.advance(by: .milliseconds(50))
        #expect(second.hasSlot)
        let polls = other.store.count(.granted)
        cluster.clock.advance(by: .seconds(10))
        #expect(other.store.count(.granted) == polls, "it polls although no reply waits")
    }

    @Test func onePollServesAllWaitingReplies() throws {
        let cluster = SlotCluster()
        cluster.process.request("a")
        let waiting = (0..<20).map { cluster.process.request("b\($0)") }
        cluster.clock.advance(by: .milliseconds(950))
        let polls = cluster.process.store.count(.granted) + cluster.process.store.count(.survey)
        #expect(17...19 ~= polls, "\(polls)")
        #expect(waiting.allSatisfy { $0.isWaiting })
    }

    @Test func manyPromptsOfOneAppDoNotDelayAnother() throws {
        let cluster = SlotCluster()
        var order: [String] = []
        var running = cluster.process.request("a")
        let many = (0..<20).map { _ in cluster.process.request("a") }
        for _ in 0..<5 {
            running = try cluster.passSlot(from: running, to: many)
        }
        let few = (0..<2).map { _ in cluster.process.request("b") }
        for _ in 0..<6 {
            running = try cluster.passSlot(from: running, to: many + few)
            order.append(running.ticket.owner)
        }
        #expect(order == ["b", "a", "b", "a", "a", "a"])
    }

    @Test func appWithoutPromptsDoesNotAccumulateTurns() throws {
        let cluster = SlotCluster()
        var running = cluster.process.request("a")
        let many = (0..<10).map { _ in cluster.process.request("a") }
        for _ in 0..<8 {
            running = try cluster.passSlot(from: running, to: many)
        }
        // It begins at the current rank of the queue, and gets no credit for the time without prompts.
        let late = (0..<4).map { _ in cluster.process.request("b") }
        var order: [String] = []
        for _ in 0..<4 {
            running = try cluster.passSlot(from: running, to: many + late)
            order.append(running.ticket.owner)
        }
        #expect(order == ["b", "a", "b", "a"])
    }

    @Test func releasedTicketsHaveNoEffectOnTheOrder() throws {
        let cluster = SlotCluster()
        let running = cluster.process.request("a")
        let given = (0..<10).map { _ in cluster.process.request("b") }
        let last = cluster.process.request("b")
        let other = cluster.process.request("c")
        for reply in given {
            reply.release()
            #expect(reply.outcome == .cancelled)
        }
        running.release()
        #expect(last.hasSlot && other.isWaiting)
        let next = cluster.process.request("b")
        #expect(next.isWaiting)
        last.release()
        #expect(other.hasSlot)
        other.release()
        #expect(next.hasSlot)
    }

    @Test func severalSlotsAreGrantedAtOnceAndNoneTwice() throws {
        let cluster = SlotCluster(slots: 3)
        let replies = (0..<9).map { cluster.process.request("a\($0)") }
        #expect(replies.map(\.hasSlot) == [true, true, true] + Array(repeating: false, count: 6))
        replies[1].release()
        replies[1].release()
        #expect(replies.count { $0.hasSlot } == 4 && replies[3].hasSlot)
        #expect(cluster.slots.running(at: "u") == 3)
    }

    @Test func changedPositionsAreReportedAtMostOncePerSecond() throws {
        let cluster = SlotCluster()
        var running = cluster.process.request("a")
        let others = (0..<5).map { cluster.process.request("b\($0)") }
        let last = cluster.process.request("c")
        #expect(last.positions.map(\.position) == [6] && last.positions.map(\.length) == [6])
        running = try cluster.passSlot(from: running, to: others)
        running = try cluster.passSlot(from: running, to: others)
        cluster.clock.advance(by: .milliseconds(900))
        #expect(last.positions.count == 1)
        cluster.clock.advance(by: .milliseconds(1_200))
        #expect(last.positions.map(\.position) == [6, 4])
        cluster.clock.advance(by: .seconds(5))
        #expect(last.positions.map(\.position) == [6, 4])
    }

    @Test func additionalSlotsAreGrantedToWaitingReplies() throws {
        let cluster = SlotCluster()
        cluster.process.request("a")
        let waiting = cluster.process.request("b")
        cluster.slotCount = 3
        let late = cluster.process.request("c")
        #expect(waiting.hasSlot && late.hasSlot)
    }

    @Test func reducedSlotsApplyToWaitingReplies() throws {
        let cluster = SlotCluster(slots: 2)
        let replies = (0..<6).map { cluster.process.request("a\($0)") }
        cluster.process.queue.update(slots: ["u": 1])
        replies[0].release()
        #expect(cluster.slots.running(at: "u") == 1 && !replies[2].hasSlot)
        replies[1].release()
        #expect(cluster.slots.running(at: "u") == 1 && replies[2].hasSlot)
        // A reply that began before the change has the earlier number of slots.
        let late = cluster.process.request("b")
        #expect(cluster.slots.running(at: "u") == 1 && late.isWaiting)
        cluster.process.queue.update(slots: ["u": 3])
        cluster.clock.advance(by: .seconds(1))
        #expect(cluster.slots.running(at: "u") == 3)
    }

    @Test func slotOfADeadProcessIsFree() throws {
        let cluster = SlotCluster()
        let dying = cluster.addProcess()
        dying.request("a")
        let waiting = cluster.process.request("b")
        cluster.clock.advance(by: .seconds(5))
        #expect(waiting.isWaiting)
        cluster.slots.dead = [dying.store.process]
        cluster.clock.advance(by: .seconds(1))
        #expect(waiting.hasSlot)
    }

    @Test func adoptedTicketKeepsItsPosition() throws {
        let cluster = SlotCluster()
        let dying = cluster.addProcess()
        let running = cluster.process.request("a")
        let left = dying.request("b")
        let late = cluster.process.request("c")
        cluster.slots.dead = [dying.store.process]
        let adopted = cluster.process.request("b", reply: left.ticket.reply)
        #expect(adopted.positions.map(\.position) == [1])
        running.release()
        #expect(adopted.hasSlot && late.isWaiting)
    }

    @Test func adoptedTicketLosesItsSlotAndKeepsItsPosition() throws {
        let cluster = SlotCluster()
        let dying = cluster.addProcess()
        let left = dying.request("a")
        let waiting = cluster.process.request("b")
        let late = cluster.process.request("c")
        cluster.slots.dead = [dying.store.process]
        cluster.clock.advance(by: .seconds(2))
        #expect(waiting.hasSlot)
        let adopted = cluster.process.request("a", reply: left.ticket.reply)
        #expect(adopted.isWaiting && cluster.slots.running(at: "u") == 1)
        waiting.release()
        #expect(adopted.hasSlot && late.isWaiting)
    }

    @Test func releaseByTheFormerOwnerHasNoEffect() throws {
        let cluster = SlotCluster()
        let slow = cluster.addProcess()
        let left = slow.request("a")
        cluster.slots.dead = [slow.store.process]
        let adopted = cluster.process.request("a", reply: left.ticket.reply)
        #expect(adopted.hasSlot)
        left.release()
        #expect(cluster.slots.rows[adopted.ticket.key]?.isGranted == true)
    }

    @Test func replyWithoutItsConversationStopsWaiting() throws {
        let cluster = SlotCluster()
        cluster.process.request("a")
        let waiting = cluster.process.request("b")
        let late = cluster.process.request("c")
        cluster.slots.gone = [waiting.ticket.reply]
        cluster.slots.rows[waiting.ticket.key] = nil
        cluster.clock.advance(by: .seconds(2))
        #expect(waiting.outcome == .conversationReplaced && late.isWaiting)
        #expect(late.positions.map(\.position) == [2, 1] && cluster.slots.rows.count == 2)
    }

    @Test func removedTicketIsEnteredAgain() throws {
        let cluster = SlotCluster()
        let running = cluster.process.request("a")
        let waiting = cluster.process.request("b")
        cluster.slots.rows[waiting.ticket.key] = nil
        cluster.clock.advance(by: .seconds(2))
        running.release()
        #expect(waiting.hasSlot)
    }
}
