import Bytes
import LanguageModels
import Postgres
import Relay
import Sockets
import TestSupport
import Testing

@testable import ChatterdServer

/// What the relay asks of its store, of PostgreSQL itself.
@Suite struct ConversationStoreTests {
    private static let prompt = [ModelMessage(role: "user", content: "p")]

    @Test func aReplyIsStoredOnceAndItsLastStateCounts() async throws {
        try await withStores { store, _ in
            let (turn, _) = try await store.openTurn(appID: "app", prompts: Self.prompt)
            let reply = Self.reply("text", .complete)
            try await store.closeTurn(turn, with: reply)
            try await store.closeTurn(turn, with: reply)
            let (next, history) = try await store.openTurn(appID: "app", prompts: Self.prompt)
            #expect(history.messages.count == 3 && history.unfinished.isEmpty)
            // The confirmation was lost, and the client was told that the reply is.
            var failed = reply
            failed.state = .failed
            try await store.closeTurn(turn, with: failed)
            #expect(try await store.history(of: next).messages.count == 1)
            #expect(
                await Self.code { try await store.closeTurn(turn, with: Self.reply("x", .complete)) } == .interrupted)
        }
    }

    @Test func anOpenTurnIsUnfinishedToTheNextOnly() async throws {
        try await withStores { store, _ in
            let (first, before) = try await store.openTurn(appID: "app", prompts: Self.prompt + Self.prompt)
            #expect(first.number == 3 && before.unfinished.isEmpty && before.messages.count == 2)
            let (second, history) = try await store.openTurn(appID: "app", prompts: Self.prompt)
            #expect(second.number == 5 && history.unfinished == [3] && history.messages.count == 1)
            try await store.closeTurn(first, with: Self.reply("a", .complete))
            let now = try await store.history(of: second)
            #expect(now.unfinished.isEmpty && now.messages.count == 4)
            #expect(try await store.history(of: first).messages.count == 2)
        }
    }

    @Test func aTurnIsSettledWhenItsProcessIsDead() async throws {
        try await withStores { store, other in
            let (turn, _) = try await store.openTurn(appID: "app", prompts: Self.prompt)
            // Its lease holds; and its own process knows whether it is at it.
            #expect(try await other.settleTurn(turn, isAbandoned: true) == false)
            #expect(try await store.settleTurn(turn, isAbandoned: false) == false)
            #expect(try await store.settleTurn(turn, isAbandoned: true))
            #expect(try await other.settleTurn(turn, isAbandoned: false))
            #expect(
                await Self.code { try await store.closeTurn(turn, with: Self.reply("x", .complete)) } == .interrupted)
        }
    }

    @Test func aTurnWhoseConversationWasReplacedIsGone() async throws {
        try await withStores { store, _ in
            let (turn, _) = try await store.openTurn(appID: "app", prompts: Self.prompt)
            try await store.replaceConversation(appID: "app", with: [ModelMessage(role: "system", content: "s")])
            #expect(try await store.settleTurn(turn, isAbandoned: false))
            #expect(await Self.code { _ = try await store.history(of: turn) } == .conversationReplaced)
            #expect(
                await Self.code { try await store.closeTurn(turn, with: Self.reply("x", .complete)) }
                    == .conversationReplaced)
            let (next, history) = try await store.openTurn(appID: "app", prompts: Self.prompt)
            #expect(next.number > turn.number && history.messages.count == 2 && history.unfinished.isEmpty)
        }
    }

    private static func reply(_ text: String, _ state: ReplyState) -> StoredReply {
        var generator = SystemRandomNumberGenerator()
        return StoredReply(
            id: ReplyID(using: &generator), model: "m", text: Array(text.utf8), thinking: [], extras: [], state: state)
    }

    private static func code(_ body: () async throws -> Void) async -> RelayError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? RelayError)?.code
        }
    }

    /// Runs `body` on a shard with the stores of two processes on a fresh database.
    private func withStores(
        _ body: @escaping @Sendable (PostgresConversationStore, PostgresConversationStore) async throws -> Void
    ) async throws {
        let conninfo = try await blocking { try PrivateCluster.shared().makeDatabase() }
        let target = try ConnectionTarget(conninfo)
        _ = try await Migrator(Migration.embedded, target: target).run(patience: .seconds(600))
        try await blocking { try prolongLeases(in: conninfo, of: .shared()) }
        let shard = try Shard(index: 0)
        var configuration = PostgresConfiguration(target: target)
        configuration.patience = .seconds(600)
        configuration.timeLimit = .seconds(600)
        let pool = PostgresPool(configuration, on: shard)
        let stores = (0..<2).map { _ in
            var generator = SystemRandomNumberGenerator()
            return PostgresConversationStore(
                pool: pool, lease: ProcessLease(id: ReplyID(using: &generator)), historyLimit: 1 << 20)
        }
        try await Task(executorPreference: shard) {
            let outcome: Result<Void, any Error>
            do {
                outcome = .success(try await body(stores[0], stores[1]))
            } catch {
                outcome = .failure(error)
            }
            await pool.shutDown()
            try outcome.get()
        }.value
    }
}
