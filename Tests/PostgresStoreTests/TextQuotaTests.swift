import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore

/// The limits of the stored text of apps and of people.
@Suite(.timeLimit(.minutes(30))) struct TextQuotaTests {
    private static let limits = TextQuota.Limits(app: 100_000, person: 40_000)

    private static let owners = [
        Owner(app: "app"), Owner(app: "app", person: "ada"), Owner(app: "app", person: "bob"),
        Owner(app: "app", person: "carl"),
    ]

    /// A quota that measures only when the test says so: its clock stands still.
    private func quota(_ processes: StoreProcesses) async -> TextQuota {
        let quota = TextQuota(Self.limits, pool: processes.pool) { Instant(nanoseconds: 1) }
        await measure(quota)
        return quota
    }

    private func measure(_ quota: TextQuota) async {
        for owner in Self.owners { await quota.measure(owner) }
    }

    private func store(_ processes: StoreProcesses, _ quota: TextQuota) -> PostgresConversationStore {
        PostgresConversationStore(
            pool: processes.pool, lease: ProcessLease(id: .random()), historyLimit: 1 << 20, quota: quota)
    }

    private func relayError(_ body: () async throws -> Void) async -> RelayError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? RelayError
        }
    }

    private func text(_ size: Int) -> String { String(repeating: "x", count: size) }

    private static func key(_ person: String?, _ name: String) -> ConversationKey {
        ConversationKey(Owner(app: "app", person: person), name: name)
    }

    @Test func textBeyondALimitIsRefusedUntilConversationsAreDeleted() async throws {
        try await StoreProcesses.run { processes in
            let quota = await quota(processes)
            let store = store(processes, quota)
            let catalogue = ConversationCatalogue(pool: processes.pool, readers: processes.pool, quota: quota)
            let archive = ConversationArchive(
                pool: processes.pool, readers: processes.pool, conversationLimit: 1 << 30, quota: quota,
                memory: MemoryBudget(limit: 1 << 30))
            let (ada, bob) = (Self.key("ada", "trip"), Self.key("bob", "trip"))
            try await store.exchange(text(30_000), "ok", in: ada)
            let refusal = await relayError { _ = try await store.open(text(20_000), in: ada) }
            #expect(
                refusal?.code == .textFull && refusal?.message.contains("CHATTERD_PERSON_TEXT_LIMIT, 40000") == true)
            // Another conversation of the person is not another person, and another person has room.
            #expect(
                await relayCode { _ = try await store.open(text(20_000), in: Self.key("ada", "more")) }
                    == .textFull)
            try await store.exchange(text(30_000), "ok", in: bob)
            try await store.exchange(text(30_000), "ok", in: "app")

            // The app has 10 KB left for all of its people.
            let large = [ModelMessage(role: "user", content: text(20_000))]
            let full = await relayError { _ = try await store.open(text(20_000), in: "app") }
            #expect(full?.code == .textFull && full?.message.contains("CHATTERD_TEXT_LIMIT, 100000") == true)
            #expect(
                await relayCode { try await store.replaceConversation("app", with: large) } == .textFull)
            #expect(
                await relayCode {
                    _ = try await catalogue.create(Self.key(nil, "new"), title: nil, messages: large)
                } == .textFull)
            // Thoughts and calls count, too.
            let thoughts = [ModelMessage(role: "assistant", content: "", extras: #""thinking":"\#(text(20_000))""#)]
            #expect(await relayCode { _ = try await archive.add(thoughts, to: bob) } == .textFull)
            #expect(
                await relayCode {
                    _ = try await catalogue.create(Self.key(nil, "new"), title: nil, messages: thoughts)
                } == .textFull)
            let file = try await archive.exported(ada)
            #expect(
                await relayCode {
                    _ = try await archive.importFile(file, isPiece: false, into: Self.key("carl", "copy"))
                } == .textFull)
            try await store.exchange("small", "ok", in: "app")
            #expect(try await processes.sql("SELECT count(*) FROM chatts WHERE name = 'user'") == [["4"]])
            // Another app has its own limit.
            try await store.exchange(text(50_000), "ok", in: "other")

            // A copy needs to know no size: it is the last one beyond the limit.
            try await archive.fork(bob, at: nil, to: Self.key("bob", "copy"), title: nil)
            let copy = Self.key("bob", "another copy")
            #expect(
                await relayCode { try await archive.fork(bob, at: nil, to: copy, title: nil) } == .textFull)
            for key in [ada, bob, Self.key("bob", "copy")] {
                try await store.deleteConversation(key)
            }
            await measure(quota)
            try await store.exchange(text(20_000), "ok", in: "app")
        }
    }

    @Test func textOfOtherProcessesAndAnswersCount() async throws {
        try await StoreProcesses.run { processes in
            let quota = await quota(processes)
            let (one, two) = (store(processes, await self.quota(processes)), store(processes, quota))
            try await one.exchange(text(30_000), text(40_000))
            try await one.exchange(text(20_000), "ok", in: Self.key("ada", "trip"))
            try await two.exchange(text(5_000), "ok")
            await measure(quota)
            #expect(await relayCode { _ = try await two.open(text(5_000)) } == .textFull)
            _ = try await two.open("small")
        }
    }

    /// A process measures while it stores. It notices the text of another process before it has stored as much as the limit itself.
    @Test func textIsMeasuredInTheBackground() async throws {
        try await StoreProcesses.run { processes in
            try await store(processes, await quota(processes)).exchange(text(99_000), "ok")
            let minutes = Lock<UInt64>(0)
            let measuring = TextQuota(Self.limits, pool: processes.pool) {
                Instant(
                    nanoseconds: minutes.withLock { minutes in
                        minutes += 1
                        return minutes * 60_000_000_000
                    })
            }
            let other = store(processes, measuring)
            var prompts = 0
            while prompts < 380, await relayCode({ try await other.exchange("x", "ok") }) != .textFull {
                prompts += 1
            }
            #expect(prompts < 300)
        }
    }

    @Test func ownersWithoutALimitAreNotCounted() async throws {
        try await StoreProcesses.run { processes in
            let quota = TextQuota(TextQuota.Limits(), pool: processes.pool)
            try await store(processes, quota).exchange(text(200_000), "ok")
            try await store(processes, quota).exchange(text(200_000), "ok", in: Self.key("ada", "trip"))
        }
    }
}
