import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore
@testable import ChatterdRelay

/// The queues of model servers in PostgreSQL.
@Suite(.timeLimit(.minutes(30))) struct SlotStoreTests {
    @Test func slotIsGrantedInTheOrderOfRanks() async throws {
        try await SlotStoreStage.run { stage in
            let (first, second) = (stage.slots[0], stage.slots[1])
            let running = try await stage.ticket("a")
            #expect(try await first.enter(running).granted == [running.key])
            var tickets: [SlotTicket] = []
            for conversation: ConversationKey in ["a", "a", "b"] {
                // A process without a lease is not alive.
                tickets.append(try await stage.ticket(conversation, by: 1))
            }
            for (index, ticket) in tickets.enumerated() {
                let entry = try await second.enter(ticket)
                #expect(entry.granted.isEmpty)
                #expect(entry.position?.position == [1, 2, 1][index] && entry.position?.length == index + 1)
            }
            let survey = try await second.survey(["u"])
            #expect(tickets.map { survey.positions[$0.key]?.position } == [2, 3, 1])
            #expect(survey.running == ["u": 1] && survey.granted.isEmpty)
            // The process that releases it does not get the next one.
            #expect(try await first.leave(running).isEmpty)
            #expect(try await second.granted() == [tickets[2].key])
            #expect(try await second.leave(tickets[2]) == [tickets[0].key])
            #expect(try await second.leave(tickets[0]) == [tickets[1].key])
            #expect(try await second.leave(tickets[1]).isEmpty)
            #expect(try await stage.processes.sql("SELECT count(*) FROM chatterd_queue") == [["0"]])
            let load = try await first.load(of: "u")
            #expect(load.running == 0 && load.waiting == 0 && load.hold != nil)
        }
    }

    @Test func conversationsOfAnOwnerShareOneTurnAndPeopleHaveTheirOwn() async throws {
        try await SlotStoreStage.run { stage in
            let store = stage.slots[0]
            let running = try await stage.ticket("a")
            _ = try await store.enter(running)
            let owners = [Owner(app: "a"), Owner(app: "a"), Owner(app: "a", person: "x"), Owner(app: "a", person: "y")]
            var tickets: [SlotTicket] = []
            for (index, owner) in owners.enumerated() {
                tickets.append(try await stage.ticket(ConversationKey(owner, name: "c\(index)")))
                _ = try await store.enter(tickets[index])
            }
            // The second conversation of the app comes after the first ones of both people.
            let positions = try await store.survey(["u"]).positions
            #expect(tickets.map { positions[$0.key]?.position } == [3, 4, 1, 2])
        }
    }

    @Test func passedRequestsOfAnOwnerHaveOneShare() async throws {
        try await SlotStoreStage.run { stage in
            let store = stage.slots[0]
            func passed(by owner: Owner?) -> SlotTicket {
                SlotTicket(upstream: "u", slots: 1, reply: .random(), owner: SlotTicket.passed(by: owner))
            }
            _ = try await store.enter(try await stage.ticket("a"))
            let tickets = [
                passed(by: Owner(app: "a")), passed(by: Owner(app: "a")), passed(by: Owner(app: "b")), passed(by: nil),
            ]
            for ticket in tickets {
                _ = try await store.enter(ticket)
            }
            let positions = try await store.survey(["u"]).positions
            #expect(tickets.map { positions[$0.key]?.position } == [1, 4, 2, 3])
            // They have no replies, and stay while their process is alive.
            try await store.sweep()
            #expect(try await store.survey(["u"]).positions.count == 4)
        }
    }

    @Test func ticketEnteredTwiceIsInTheQueueOnce() async throws {
        try await SlotStoreStage.run { stage in
            let store = stage.slots[0]
            let (running, waiting) = (try await stage.ticket("a"), try await stage.ticket("b"))
            _ = try await store.enter(running)
            _ = try await store.enter(waiting)
            // The confirmations were lost.
            let again = try await store.enter(running)
            #expect(again.position == nil && again.granted.isEmpty)
            #expect(try await store.enter(waiting).position?.position == 1)
            #expect(try await store.leave(running) == [waiting.key])
            #expect(try await store.leave(running).isEmpty)
            #expect(try await store.granted() == [waiting.key])
        }
    }

    @Test func cancelledTicketLeavesNoTrace() async throws {
        try await SlotStoreStage.run { stage in
            let store = stage.slots[0]
            let running = try await stage.ticket("a")
            _ = try await store.enter(running)
            var tickets: [SlotTicket] = []
            for conversation: ConversationKey in ["b", "b", "b", "b", "c"] {
                tickets.append(try await stage.ticket(conversation))
                _ = try await store.enter(tickets[tickets.count - 1])
            }
            for ticket in tickets[..<3] {
                #expect(try await store.leave(ticket).isEmpty)
            }
            #expect(try await store.survey([]).positions[tickets[3].key]?.position == 1)
            let next = try await stage.ticket("b")
            #expect(try await store.enter(next).position?.position == 3)
            #expect(try await store.leave(running) == [tickets[3].key])
            #expect(
                try await stage.processes.sql("SELECT rank FROM chatterd_queue_ranks WHERE appid LIKE 'b%'") == [["1"]])
        }
    }

    @Test func concurrentTicketsAllGetASlotWithinTheLimit() async throws {
        try await SlotStoreStage.run(processes: 3) { stage in
            let slots = 3
            var tickets: [SlotTicket] = []
            for index in 0..<60 {
                tickets.append(try await stage.ticket("app\(index % 7)", slots: slots, by: index % 3))
            }
            let holding = Lock((now: 0, most: 0))
            // Each process has its own shard and connections.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (index, ticket) in tickets.enumerated() {
                    let store = stage.apart[index % 3]
                    group.addTask {
                        var isGranted = try await store.enter(ticket).position == nil
                        while !isGranted {
                            isGranted = try await store.granted().contains(ticket.key)
                        }
                        holding.withLock {
                            $0.now += 1
                            $0.most = max($0.most, $0.now)
                        }
                        #expect(try await store.load(of: "u").running <= slots)
                        holding.withLock { $0.now -= 1 }
                        _ = try await store.leave(ticket)
                    }
                }
                try await group.waitForAll()
            }
            let most = holding.withLock { $0.most }
            #expect(1...slots ~= most)
            #expect(try await stage.processes.sql("SELECT count(*) FROM chatterd_queue") == [["0"]])
        }
    }

    @Test func slotsOfADeadProcessBecomeFree() async throws {
        try await SlotStoreStage.run { stage in
            let (dead, heir) = (stage.slots[0], stage.slots[1])
            let held = try await stage.ticket("a", by: 0)
            let waiting = try await stage.ticket("b", by: 1)
            _ = try await dead.enter(held)
            let left = try await stage.ticket("a", by: 0)
            _ = try await dead.enter(left)
            _ = try await heir.enter(waiting)
            #expect(try await heir.grant(at: "u", slots: 1).isEmpty)
            try await stage.processes.kill(stage.processes.first)
            let survey = try await heir.survey(["u"])
            #expect(survey.running == ["u": 0] && survey.positions[waiting.key]?.position == 1)
            #expect(survey.positions[waiting.key]?.length == 1)
            #expect(try await heir.grant(at: "u", slots: 1) == [waiting.key])
            // A ticket of a dead process gets no slot.
            #expect(try await heir.leave(waiting).isEmpty)
            #expect(try await heir.load(of: "u").running == 0)
        }
    }

    @Test func adopterGetsTheQueuePositionAndNotTheSlot() async throws {
        try await SlotStoreStage.run { stage in
            let (dead, heir) = (stage.slots[0], stage.slots[1])
            let held = try await stage.ticket("a", by: 0)
            let left = try await stage.ticket("b", by: 0)
            _ = try await dead.enter(held)
            _ = try await dead.enter(left)
            let (first, second) = (try await stage.ticket("c", by: 1), try await stage.ticket("d", by: 1))
            _ = try await heir.enter(first)
            _ = try await heir.enter(second)
            try await stage.processes.kill(stage.processes.first)
            // The live ticket gets the slot. Both others keep their positions before later tickets.
            #expect(try await heir.grant(at: "u", slots: 1) == [first.key])
            #expect(try await heir.enter(left).position?.position == 1)
            #expect(try await heir.enter(held).position?.position == 1)
            #expect(try await dead.leave(held).isEmpty)
            #expect(try await heir.leave(first) == [held.key])
            #expect(try await heir.leave(held) == [left.key])
            #expect(try await heir.leave(left) == [second.key])
        }
    }

    @Test func ticketsOfDeadProcessesAreSweptAfterTheirReplies() async throws {
        try await SlotStoreStage.run { stage in
            let (dead, heir) = (stage.slots[0], stage.slots[1])
            let opened = try await stage.processes.first.open("p", in: "a", onInterrupt: .regenerate)
            let closed = try await stage.processes.first.open("p", in: "b")
            let alive = try await stage.ticket("c", by: 1)
            for turn in [opened, closed] {
                _ = try await dead.enter(
                    SlotTicket(
                        upstream: "u", slots: 1, reply: turn.id, owner: SlotStoreStage.owner(of: turn.turn.conversation)
                    ))
            }
            _ = try await heir.enter(alive)
            try await heir.sweep()
            #expect(try await stage.waiting() == ["a", "b", "c"])
            try await stage.processes.kill(stage.processes.first, isNoticed: true)
            try await heir.sweep()
            #expect(try await stage.waiting() == ["a", "b", "c"])
            #expect(
                try await stage.processes.second.settleTurn(
                    closed.turn, isAbandonedHere: false, closesRegenerated: false))
            try await heir.sweep()
            #expect(try await stage.waiting() == ["a", "c"])
            // Adopted, it keeps its ticket; closed, it has none.
            let adopted = try await stage.processes.second.adoptAbandoned(limit: 10, except: []) { _, _ in }
            #expect(adopted.map(\.id) == [opened.id])
            try await heir.sweep()
            #expect(try await stage.waiting() == ["a", "c"])
            try await stage.processes.second.closeTurn(
                opened.turn, with: opened.closing("done", behind: ReplyPosition(attempt: 2)))
            try await heir.sweep()
            #expect(try await stage.waiting() == ["c"])
        }
    }

    @Test func removedConversationLeavesNoTickets() async throws {
        try await SlotStoreStage.run { stage in
            let store = stage.slots[0]
            let (running, waiting) = (try await stage.ticket("a"), try await stage.ticket("app"))
            _ = try await store.enter(running)
            _ = try await store.enter(waiting)
            try await stage.processes.first.deleteConversation("app")
            #expect(try await stage.processes.rowCounts().isEmpty)
            #expect(try await store.survey(["u"]).positions.isEmpty)
            #expect(await relayCode { _ = try await store.enter(waiting) } == .conversationReplaced)
            #expect(try await stage.processes.rowCounts().isEmpty)
            #expect(try await store.leave(running).isEmpty)
        }
    }

    @Test func ticketOfAClosedReplyIsRefused() async throws {
        try await SlotStoreStage.run { stage in
            let store = stage.slots[0]
            let running = try await stage.ticket("a")
            let opened = try await stage.processes.first.open("p", in: "b")
            let waiting = SlotTicket(upstream: "u", slots: 1, reply: opened.id, owner: SlotStoreStage.owner(of: "b"))
            _ = try await store.enter(running)
            _ = try await store.enter(waiting)
            // Another process considers this one dead.
            #expect(
                try await stage.processes.first.settleTurn(opened.turn, isAbandonedHere: true, closesRegenerated: false)
            )
            try await store.sweep()
            #expect(try await stage.waiting() == ["a"])
            #expect(await relayCode { _ = try await store.enter(waiting) } == .interrupted)
            // A ticket keeps its slot.
            try await stage.processes.first.deleteConversation("a")
            try await store.sweep()
            #expect(try await store.granted() == [running.key])
        }
    }

    @Test func obsoleteRanksAreRemoved() async throws {
        try await SlotStoreStage.run { stage in
            let store = stage.slots[0]
            for conversation: ConversationKey in ["a", "b", "a", "c", "a"] {
                let ticket = try await stage.ticket(conversation)
                _ = try await store.enter(ticket)
                _ = try await store.leave(ticket)
            }
            // The queue has the rank of its last ticket. An earlier conversation continues at that rank.
            try await store.sweep()
            let ranks = try await stage.processes.sql(
                "SELECT left(appid, 1), r.rank = q.rank FROM chatterd_queue_ranks r JOIN chatterd_queues q USING (upstream)"
            )
            #expect(ranks == [["a", "t"]])
        }
    }

    @Test func returningConversationIsServedDespiteNewOnes() async throws {
        try await SlotStoreStage.run { stage in
            let store = stage.slots[0]
            var running = try await stage.ticket("a")
            _ = try await store.enter(running)
            let again = try await stage.ticket("a")
            _ = try await store.enter(again)
            for number in 0..<SlotStatements.round {
                let fresh = try await stage.ticket("new\(number)")
                _ = try await store.enter(fresh)
                let next = try await store.leave(running)
                guard next == [fresh.key] else {
                    #expect(next == [again.key])
                    // The queue has advanced, so the ranks of conversations without tickets are removed.
                    try await store.sweep()
                    let ranks = try await stage.processes.sql(
                        "SELECT split_part(appid, E'\\x1F', 1) FROM chatterd_queue_ranks ORDER BY appid")
                    #expect(ranks == [["a"], ["new\(number)"]])
                    return
                }
                running = fresh
            }
            Issue.record("it was overtaken \(SlotStatements.round) times")
        }
    }

    @Test func housekeeperSweepsTheQueues() async throws {
        try await SlotStoreStage.run { stage in
            let closed = try await stage.processes.first.open("p")
            _ = try await stage.slots[0].enter(
                SlotTicket(upstream: "u", slots: 1, reply: closed.id, owner: SlotStoreStage.owner(of: "app")))
            try await stage.processes.kill(stage.processes.first)
            let keeper = Housekeeper(
                store: stage.processes.second, turns: TurnBoard(limits: RelayLimits()), retention: nil, adopt: {})
            for _ in 0..<5 {
                try await keeper.runRound()
            }
            #expect(try await stage.waiting().isEmpty)
        }
    }
}
