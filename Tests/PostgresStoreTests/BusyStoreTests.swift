import ChatterdChat
import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore

/// Prompts of a conversation whose replies are running.
@Suite(.timeLimit(.minutes(30))) struct BusyStoreTests {
    private func opening(
        _ prompt: String, _ policy: BusyPolicy, parent: TurnParent? = nil, key: IdempotencyKey? = nil
    ) -> NewTurn {
        NewTurn(
            conversation: "app", prompts: [ModelMessage(role: "user", content: prompt)], id: .random(), model: "m",
            parent: parent, key: key, whenBusy: policy)
    }

    /// Opens a turn that is new to the store.
    private func open(
        _ store: PostgresConversationStore, _ prompt: String, _ policy: BusyPolicy, parent: TurnParent? = nil
    ) async throws -> StoredTurn {
        let opening = opening(prompt, policy, parent: parent)
        guard case .opened(let turn, let history, _) = try await store.openTurn(opening) else {
            throw TestFailure("the turn is known")
        }
        return StoredTurn(turn: turn, id: opening.id, history: history)
    }

    private func busyReply(_ store: PostgresConversationStore, _ opening: NewTurn) async throws -> ReplyID? {
        do throws(RelayError) {
            _ = try await store.openTurn(opening)
            return nil
        } catch {
            guard error.code == .conversationBusy else { throw error }
            return error.reply
        }
    }

    @Test func promptThatRefusesToWaitIsNotStored() async throws {
        try await StoreProcesses.run { processes in
            let running = try await processes.first.open("a")
            let before = try await processes.sql("SELECT * FROM chatts, chatterd_conversations")
            let key = IdempotencyKey(text: "k", digest: [1])
            for opening in [
                opening("b", .refuse), opening("b", .refuse, key: key),
                opening("b", .refuse, parent: .start), opening("b", .refuse, parent: .reply(running.id)),
            ] {
                #expect(try await busyReply(processes.second, opening) == running.id)
            }
            #expect(try await processes.sql("SELECT * FROM chatts, chatterd_conversations") == before)
            #expect(try await processes.sql("SELECT * FROM chatterd_keys").isEmpty)
            try await processes.first.closeTurn(running.turn, with: running.closing("1"))
            let next = opening("b", .refuse, key: key)
            guard case .opened = try await processes.second.openTurn(next) else { throw TestFailure("not opened") }
            // A repeated request gets its own running reply.
            guard case .known(let known) = try await processes.first.openTurn(opening("b", .refuse, key: key)) else {
                throw TestFailure("not known")
            }
            #expect(known == next.id)
            let missing = opening("c", .refuse, parent: .reply(.random()))
            try await processes.sql("UPDATE chatts SET state = 'complete' WHERE state = 'streaming'")
            #expect(await relayCode { _ = try await processes.first.openTurn(missing) } == .replyNotFound)
        }
    }

    @Test func onlyOneOfManyConcurrentPromptsIsAccepted() async throws {
        try await StoreProcesses.run { processes in
            let opened = try await withThrowingTaskGroup(of: Bool.self) { group in
                for index in 0..<20 {
                    group.addTask {
                        let refused = try await busyReply(
                            processes.stores[index % 2], opening("p\(index)", .refuse))
                        return refused == nil
                    }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(opened == 1)
            #expect(try await processes.sql("SELECT count(*) FROM chatts") == [["2"]])
        }
    }

    @Test func stopSignalsTheOwnersAndFollowsTheStoppedReplies() async throws {
        try await StoreProcesses.run { processes in
            try await processes.first.exchange("a", "1")
            let running = [try await processes.first.open("b"), try await processes.second.open("c")]
            let next = try await open(processes.second, "d", .stop)
            for (store, opened) in zip(processes.stores, running) {
                #expect(try await store.journal([JournalEntry]()) == [ReplySignal(id: opened.id, kind: .stop)])
                try await store.closeTurn(opened.turn, with: opened.closing("text", as: .cancelled))
            }
            #expect(try await processes.sql("SELECT after FROM chatts WHERE message = 'd'") == [["<null>"]])
            let history = try await processes.second.history(of: next.turn, for: next.id)
            #expect(
                history.said == [
                    "user a", "assistant 1", "user b", "assistant text", "user c", "assistant text", "user d",
                ])
        }
    }

    @Test func replacingPromptTakesThePlaceOfTheFirstRunningTurn() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let first = try await store.exchange("a", "1")
            _ = try await store.open("b", "b2")
            _ = try await processes.second.open("c")
            let next = try await open(processes.second, "d", .replace)
            #expect(
                try await processes.sql("SELECT after FROM chatts WHERE message = 'd'") == [["\(first.turn.number)"]])
            // The turn does not wait for those that it replaces.
            #expect(next.history.unfinished.isEmpty && next.said == ["user a", "assistant 1", "user d"])
            #expect(try await processes.sql("SELECT count(*) FROM chatterd_signals WHERE kind = 'stop'") == [["2"]])
        }
    }

    @Test func replacedFirstTurnLeavesTheStart() async throws {
        try await StoreProcesses.run { processes in
            _ = try await processes.first.open("a")
            let next = try await open(processes.first, "b", .replace)
            #expect(next.said == ["user b"] && next.history.unfinished.isEmpty)
            try await processes.sql("UPDATE chatts SET state = 'complete' WHERE state = 'streaming'")
            // Without a running reply the prompt follows the last one.
            let last = try await open(processes.first, "c", .replace)
            #expect(last.said.last == "user c" && last.said.contains("user b"))
        }
    }

    @Test func replacedAlternativeLeavesTheEarlierReply() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let first = try await store.exchange("a", "1")
            _ = try await store.openAlternative(
                to: try await store.record(first), as: .random(), model: nil, onInterrupt: .close)
            let next = try await open(store, "b", .replace)
            #expect(next.said == ["user a", "assistant 1", "user b"])
        }
    }

    @Test func promptThatIsNotOpenedStopsNoReply() async throws {
        try await StoreProcesses.run { processes in
            _ = try await processes.first.open("a")
            for policy in [BusyPolicy.stop, .replace] {
                let wrong = opening("b", policy, parent: .reply(.random()))
                #expect(await relayCode { _ = try await processes.second.openTurn(wrong) } == .replyNotFound)
            }
            #expect(try await processes.sql("SELECT * FROM chatterd_signals").isEmpty)
        }
    }
}
