import ChatterdChat
import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore

/// Conversations with branches: other answers, other prompts, and the choice of a branch.
@Suite(.timeLimit(.minutes(30))) struct BranchStoreTests {
    @Test func alternativeReplyReplacesTheFirstInTheHistory() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            try await store.exchange("a", "1")
            let reply = try await store.open("b", options: "\"seed\":1")
            try await store.closeTurn(reply.turn, with: reply.closing("2"))
            let id = ReplyID.random()
            let again = try await store.openAlternative(
                to: try await store.record(reply), as: id, model: nil, onInterrupt: .close)
            #expect(again.id == id && again.model == "m" && again.attempt == 1)
            #expect(String(decoding: again.options, as: UTF8.self) == "\"seed\":1")
            #expect(again.history.said == ["user a", "assistant 1", "user b"] && again.history.unfinished.isEmpty)
            let other = StoredTurn(turn: again.turn, id: id, history: again.history)
            try await store.closeTurn(other.turn, with: other.closing("3"))
            #expect(
                try await store.open("c").said == ["user a", "assistant 1", "user b", "assistant 3", "user c"])
        }
    }

    @Test func alternativeToAnAlternativeHasTheSamePrompts() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let first = try await store.open("a", "b")
            try await store.closeTurn(first.turn, with: first.closing("1"))
            let second = try await Self.regenerate(first, "2", of: store)
            let third = try await Self.regenerate(second, "3", of: store)
            #expect(third.said == ["user a", "user b"])
            #expect(try await store.open("c").said == ["user a", "user b", "assistant 3", "user c"])
        }
    }

    @Test func alternativeCanUseAnotherModel() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let first = try await store.exchange("a", "1")
            let again = try await store.openAlternative(
                to: try await store.record(first), as: .random(), model: "other", onInterrupt: .regenerate)
            #expect(again.model == "other")
            #expect(try await store.findReply(again.id)?.model == "other")
            #expect(
                try await processes.sql("SELECT on_interrupt FROM chatts WHERE seq = \(again.turn.number)")
                    == [["regenerate"]])
        }
    }

    /// The answer of tools of the server continues after the death of its process, and so does another answer to its prompt.
    @Test(
        arguments: [
            (InterruptPolicy.regenerate, nil, "regenerate"), (.close, nil, "close"), (.regenerate, .close, "close"),
            (.close, .regenerate, "regenerate"),
        ] as [(InterruptPolicy, InterruptPolicy?, String)])
    func alternativeHasThePolicyOfItsReply(old: InterruptPolicy, new: InterruptPolicy?, stored: String) async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let first = try await store.open("a", onInterrupt: old)
            try await store.closeTurn(first.turn, with: first.closing("1"))
            let again = try await store.openAlternative(
                to: try await store.record(first), as: .random(), model: nil, onInterrupt: new)
            let sql = "SELECT coalesce(on_interrupt, 'close') FROM chatts WHERE seq = \(again.turn.number)"
            #expect(try await processes.sql(sql) == [[stored]])
        }
    }

    @Test func promptCanFollowAnyReply() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let one = try await store.exchange("a", "1")
            try await store.exchange("b", "2")
            let fork = try await store.open("c", parent: .reply(one.id))
            #expect(fork.said == ["user a", "assistant 1", "user c"])
            try await store.closeTurn(fork.turn, with: fork.closing("3"))
            // A branch of the branch, continued from its end.
            let twig = try await store.exchange("d", "4", parent: .reply(fork.id))
            let sibling = try await store.exchange("e", "5", parent: .reply(fork.id))
            #expect(sibling.said == ["user a", "assistant 1", "user c", "assistant 3", "user e"])
            #expect(
                try await store.open("f", parent: .reply(twig.id)).said == [
                    "user a", "assistant 1", "user c", "assistant 3", "user d", "assistant 4", "user f",
                ])
        }
    }

    @Test func promptAfterTheLastReplyNeedsNoLink() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let one = try await store.exchange("a", "1")
            #expect(try await store.open("b", parent: .reply(one.id)).said == ["user a", "assistant 1", "user b"])
            _ = try await store.open("c", in: "empty", parent: .start)
            #expect(try await processes.sql("SELECT count(*) FROM chatts WHERE after IS NOT NULL") == [["0"]])
        }
    }

    @Test func startOfABranchIsTheSeededMessages() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            try await store.replaceConversation(
                "app",
                with: [ModelMessage(role: "system", content: "s"), ModelMessage(role: "user", content: "t")])
            #expect(try await store.exchange("a", "1", parent: .start).said == ["system s", "user t", "user a"])
            #expect(try await store.exchange("b", "2", parent: .start).said == ["system s", "user t", "user b"])
            #expect(
                try await store.open("c").said == ["system s", "user t", "user b", "assistant 2", "user c"])
            try await store.exchange("x", "1", in: "bare")
            #expect(try await store.open("y", in: "bare", parent: .start).said == ["user y"])
        }
    }

    @Test func parentOfAnotherConversationIsNotFound() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let one = try await store.exchange("a", "1", in: "other")
            #expect(await relayCode { _ = try await store.open("b", parent: .reply(one.id)) } == .replyNotFound)
            let key = IdempotencyKey(text: "k", digest: [1])
            #expect(
                await relayCode {
                    _ = try await store.openTurn(
                        NewTurn(
                            conversation: "app", prompts: [ModelMessage(role: "user", content: "b")], id: .random(),
                            model: "m", parent: .reply(one.id), key: key))
                } == .replyNotFound)
            #expect(try await processes.rowCounts().isEmpty)
        }
    }

    @Test func onlyOpenTurnsOnTheBranchAreUnfinished() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let one = try await store.exchange("a", "1")
            let running = try await store.open("b")
            #expect(try await store.open("c", parent: .reply(one.id)).history.unfinished.isEmpty)
            let behind = try await store.open("d", parent: .reply(running.id))
            #expect(behind.history.unfinished == [running.turn.number])
            #expect(behind.said == ["user a", "assistant 1", "user d"])
            try await store.closeTurn(running.turn, with: running.closing("2"))
            #expect(
                try await store.history(of: behind.turn, for: behind.id).said == [
                    "user a", "assistant 1", "user b", "assistant 2", "user d",
                ])
        }
    }

    @Test func answerThatFailedIsOnTheBranch() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let one = try await store.exchange("a", "1")
            let failed = try await store.exchange("b", "half", parent: .reply(one.id), as: .failed)
            #expect(
                try await store.open("c", parent: .reply(failed.id)).said == [
                    "user a", "assistant 1", "user b", "assistant half", "user c",
                ])
        }
    }

    @Test func branchOfALongConversationMayFitTheLimit() async throws {
        try await StoreProcesses.run { processes in
            let store = PostgresConversationStore(
                pool: processes.pool, lease: processes.first.lease, historyLimit: 300)
            let one = try await store.exchange("a", "1")
            let long = try await store.exchange("b", String(repeating: "x", count: 400))
            #expect(try await store.open("c").history.isTooLarge)
            let branch = try await store.open("d", parent: .reply(one.id))
            #expect(!branch.history.isTooLarge && branch.said == ["user a", "assistant 1", "user d"])
            #expect(try await store.open("e", parent: .start).said == ["user e"])
            #expect(try await store.open("f", parent: .reply(long.id)).history.isTooLarge)
        }
    }

    @Test func nextTurnFollowsTheChosenReply() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let first = try await store.exchange("a", "1")
            let second = try await Self.regenerate(first, "2", of: store)
            try await store.choose(try await store.record(first))
            try await store.choose(try await store.record(first))
            #expect(try await processes.sql("SELECT count(*) FROM chatts WHERE state = 'choice'") == [["1"]])
            let next = try await store.exchange("b", "3")
            #expect(next.said == ["user a", "assistant 1", "user b"])
            try await store.choose(try await store.record(second))
            #expect(try await store.open("c").said == ["user a", "assistant 2", "user c"])
        }
    }

    @Test func choosingTheLastReplyAddsNoRow() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let reply = try await store.exchange("a", "1")
            try await store.choose(try await store.record(reply))
            #expect(try await processes.rowCounts() == ["chatts": 2])
        }
    }

    @Test func replyWithoutAnAnswerCannotBeChosen() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let failed = try await store.exchange("a", "\n\n", as: .failed)
            let running = try await store.open("b")
            for reply in [failed, running] {
                let record = try await store.record(reply)
                #expect(await relayCode { try await store.choose(record) } == .replyNotComplete)
            }
            let record = try await store.record(failed)
            try await store.deleteConversation("app")
            #expect(await relayCode { try await store.choose(record) } == .replyNotFound)
            #expect(
                await relayCode {
                    _ = try await store.openAlternative(to: record, as: .random(), model: nil, onInterrupt: .close)
                } == .replyNotFound)
        }
    }

    private static func regenerate(
        _ reply: StoredTurn, _ text: String, of store: PostgresConversationStore
    ) async throws -> StoredTurn {
        let again = try await store.openAlternative(
            to: try await store.record(reply), as: .random(), model: nil, onInterrupt: .close)
        let opened = StoredTurn(turn: again.turn, id: again.id, history: again.history)
        try await store.closeTurn(opened.turn, with: opened.closing(text))
        return opened
    }
}
