import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore

/// The ends of replies of which hooks are to be told.
@Suite(.timeLimit(.minutes(30))) struct DeliveryStoreTests {
    /// A way in which a reply ends.
    enum End: String, CaseIterable {
        case close, closeOfAJournalledReply, stop, gap, settlement, settlementOfAll

        var state: String {
            switch self {
            case .close, .closeOfAJournalledReply: "complete"
            case .stop: "cancelled"
            case .gap, .settlement, .settlementOfAll: "interrupted"
            }
        }
    }

    private func end(_ opened: StoredTurn, _ end: End, _ processes: StoreProcesses) async throws {
        let store = processes.first
        switch end {
        case .close: try await store.closeTurn(opened.turn, with: opened.closing("1"))
        case .closeOfAJournalledReply:
            _ = try await store.journal([opened.entry("12")])
            try await store.closeTurn(opened.turn, with: opened.closing("3", behind: ReplyPosition(text: 2)))
        case .stop: try await store.closeTurn(opened.turn, with: opened.closing("1", as: .cancelled))
        case .gap:
            // The database has lost the journal.
            try? await store.closeTurn(opened.turn, with: opened.closing("3", behind: ReplyPosition(text: 2)))
        case .settlement:
            try await processes.kill(store)
            _ = try await processes.second.settleTurn(opened.turn, isAbandonedHere: false, closesRegenerated: true)
        case .settlementOfAll:
            try await processes.kill(store, isNoticed: true)
            _ = try await processes.pool.run(SettlementStatements.settleAbandoned(limit: 9, telling: store.hooks))
        }
    }

    /// The transaction that ends a reply has the deliveries, whatever ends it.
    @Test(arguments: End.allCases) func eachEndHasADeliveryForEachHook(end: End) async throws {
        try await StoreProcesses.run(hooks: ["a", "b"]) { processes in
            let opened = try await processes.first.open("p")
            #expect(try await processes.sql("SELECT FROM chatterd_deliveries").isEmpty)
            try await self.end(opened, end, processes)
            // A late end changes nothing, and adds nothing.
            try? await processes.first.closeTurn(opened.turn, with: opened.closing("other", as: .failed))
            let store = DeliveryStore(pool: processes.pool)
            let found = try await store.take(limit: 9, for: "a") + store.take(limit: 9, for: "b")
            #expect(found.map(\.hook) == ["a", "b"])
            #expect(found.allSatisfy { $0.reply == opened.id && $0.state == end.state && $0.attempts == 1 })
            #expect(found.allSatisfy { $0.conversation == opened.turn.conversation })
        }
    }

    @Test(arguments: End.allCases) func withoutHooksThereAreNoDeliveries(end: End) async throws {
        try await StoreProcesses.run { processes in
            try await self.end(try await processes.first.open("p"), end, processes)
            #expect(try await processes.sql("SELECT FROM chatterd_deliveries").isEmpty)
        }
    }

    @Test func endThatIsRefusedHasNoDelivery() async throws {
        try await StoreProcesses.run(hooks: ["a"]) { processes in
            let opened = try await processes.first.open("p")
            let another = opened.closing("1")
            try? await processes.second.closeTurn(opened.turn, with: another)
            #expect(try await processes.sql("SELECT FROM chatterd_deliveries").isEmpty)
        }
    }

    @Test func deliveryThatIsTakenIsDueAgainUntilItIsRemoved() async throws {
        try await StoreProcesses.run(hooks: ["a"]) { processes in
            let opened = try await processes.first.open("p")
            try await processes.first.closeTurn(opened.turn, with: opened.closing("answer"))
            let store = DeliveryStore(pool: processes.pool)
            var last: StoredDelivery?
            for attempt in 1...11 {
                let found = try await store.take(limit: 9, for: "a")
                #expect(found.map(\.attempts) == [attempt] && found.map(\.isLast) == [attempt >= 10])
                #expect(try await store.take(limit: 9, for: "a").isEmpty)
                #expect(last == nil || found.first?.id == last?.id)
                last = found.first
                try await processes.sql("UPDATE chatterd_deliveries SET due = now()")
            }
            let delivery = try #require(last)
            let reply = try #require(try await store.reply(of: delivery, withText: true))
            #expect(reply.model == "m" && reply.lastEvent == Array("{\"done\":true}".utf8))
            #expect(reply.text == Array("answer".utf8))
            #expect(try await store.reply(of: delivery, withText: false)?.text.isEmpty == true)
            try await store.remove(delivery)
            #expect(try await store.take(limit: 9, for: "a").isEmpty)
        }
    }

    @Test func deliveriesOfHooksThatAreGoneAreRemovedLater() async throws {
        try await StoreProcesses.run(hooks: ["a", "gone"]) { processes in
            let opened = try await processes.first.open("p")
            try await processes.first.closeTurn(opened.turn, with: opened.closing("answer"))
            let store = DeliveryStore(pool: processes.pool)
            #expect(try await store.take(limit: 9, for: "a").count == 1)
            #expect(try await store.removeForgotten() == 0)
            try await processes.sql("UPDATE chatterd_deliveries SET due = due - interval '73 hours'")
            #expect(try await store.removeForgotten() == 2)
        }
    }

    /// The conversation is removed before the hook knows of the end: it learns of it, without a text.
    @Test func deliveryOutlivesItsConversation() async throws {
        try await StoreProcesses.run(hooks: ["a"]) { processes in
            let opened = try await processes.first.open("p")
            try await processes.first.closeTurn(opened.turn, with: opened.closing("answer"))
            try await processes.first.deleteConversation(opened.turn.conversation)
            let store = DeliveryStore(pool: processes.pool)
            let delivery = try #require(try await store.take(limit: 9, for: "a").first)
            #expect(try await store.reply(of: delivery, withText: true) == nil && delivery.state == "complete")
        }
    }
}
