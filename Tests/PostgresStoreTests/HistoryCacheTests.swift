import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdRelay
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdPostgresStore

/// Histories that processes keep, and histories that are read only in part.
@Suite(.timeLimit(.minutes(30))) struct HistoryCacheTests {
    /// Histories from a cache and partial histories send the same bytes as complete reads of the rows.
    @Test(arguments: 1...12) func historiesEqualThoseOfAStoreThatReadsEverything(seed: UInt64) async throws {
        try await StoreProcesses.run(count: 3) { processes in
            let course = HistoryCourse(seed: seed, processes)
            try await course.begin()
            for _ in 0..<70 {
                try await course.step()
            }
        }
    }

    /// The number of short courses that a case adds: `CHATTERD_TEST_COURSES` in the environment, for all cases together.
    private static let shortCourses = Int(ProcessInfo.processInfo.environment["CHATTERD_TEST_COURSES"] ?? "") ?? 24

    /// Many short courses, each of a conversation of its own.
    @Test(arguments: 1...12) func shortCoursesToo(part: UInt64) async throws {
        try await StoreProcesses.run(count: 3) { processes in
            for number in 0..<(Self.shortCourses + 11) / 12 {
                let seed = part << 32 | UInt64(number)
                let course = HistoryCourse(seed: seed, of: "app \(number)", processes)
                do {
                    try await course.begin()
                    for _ in 0..<6 {
                        try await course.step()
                    }
                } catch {
                    Issue.record("seed \(seed): \(error)")
                }
            }
        }
    }

    private func kept(_ conversation: ConversationKey, bytes: Int, version: Int64 = 1) -> KeptHistory {
        var messages = EncodedConversation()
        for _ in 0..<HistoryCache.minimumMessages {
            messages.append(
                ModelMessage(role: "user", content: String(repeating: "x", count: bytes / HistoryCache.minimumMessages))
            )
        }
        return KeptHistory(
            version: HistoryVersion(epoch: 1, base: version), turn: Turn(conversation: conversation, number: 40),
            id: .random(),
            junction: 38, messages: messages, omitted: [], skipped: nil)
    }

    @Test func namesOfTheSameCharactersHaveTheirOwnHistories() {
        let cache = HistoryCache(limit: 1 << 20, budget: MemoryBudget(limit: 64 << 20))
        let names: [ConversationKey] = ["\u{E9}", "e\u{301}"]
        for name in names {
            cache.keep(kept(name, bytes: 1_000))
        }
        for name in names {
            #expect(cache.history(of: name)?.turn.conversation == name)
        }
        cache.remove(names[0])
        #expect(cache.history(of: names[0]) == nil && cache.history(of: names[1]) != nil)
    }

    @Test func cacheKeepsItsLimit() {
        let budget = MemoryBudget(limit: 64 << 20)
        let cache = HistoryCache(limit: 1 << 20, budget: budget)
        for number in 0..<100 {
            cache.keep(kept("\(number)", bytes: 50_000))
            #expect(cache.byteCount <= 1 << 20)
            #expect(budget.reservedBytes == cache.byteCount)
        }
        #expect(cache.history(of: "99") != nil && cache.history(of: "0") == nil)
        // A history that alone exceeds half of the limit is not kept, and replaces the older one nevertheless.
        cache.keep(kept("99", bytes: 600_000))
        #expect(cache.history(of: "99") == nil)
    }

    @Test func usedHistoryStays() {
        let cache = HistoryCache(limit: 1 << 20, budget: MemoryBudget(limit: 64 << 20))
        cache.keep(kept("used", bytes: 50_000))
        for number in 0..<100 {
            cache.keep(kept("\(number)", bytes: 50_000))
            #expect(cache.history(of: "used") != nil)
        }
    }

    @Test func newHistoryReplacesTheOldOne() {
        let budget = MemoryBudget(limit: 64 << 20)
        let cache = HistoryCache(limit: 1 << 20, budget: budget)
        cache.keep(kept("a", bytes: 50_000))
        let bytes = cache.byteCount
        cache.keep(kept("a", bytes: 50_000, version: 2))
        #expect(cache.byteCount == bytes && cache.history(of: "a")?.version.base == 2)
        cache.remove("a")
        #expect(cache.history(of: "a") == nil && cache.byteCount == 0 && budget.reservedBytes == 0)
    }

    @Test func shortHistoryAndCacheOfNoBytesKeepNothing() {
        let cache = HistoryCache(limit: 1 << 20, budget: MemoryBudget(limit: 64 << 20))
        var history = EncodedConversation()
        history.append(ModelMessage(role: "user", content: "x"))
        cache.keep(
            KeptHistory(
                version: HistoryVersion(epoch: 1, base: 1), turn: Turn(conversation: "a", number: 4), id: .random(),
                junction: 2,
                messages: history, omitted: [], skipped: nil))
        #expect(cache.byteCount == 0)
        let none = HistoryCache(limit: 0, budget: MemoryBudget(limit: 64 << 20))
        none.keep(kept("a", bytes: 50_000))
        #expect(none.history(of: "a") == nil && none.byteCount == 0)
    }

    @Test func cacheUsesAnEighthOfTheBudgetAndLessWhileItIsTight() {
        let budget = MemoryBudget(limit: 8 << 20)
        let cache = HistoryCache(limit: 64 << 20, budget: budget)
        var number = 0
        while cache.byteCount <= 1 << 19 {
            number += 1
            cache.keep(kept("\(number)", bytes: 50_000))
            #expect(cache.byteCount <= 1 << 20)
        }
        let held = budget.charge(5 << 20)
        cache.keep(kept("last", bytes: 50_000))
        #expect(cache.byteCount <= 1 << 19 && cache.history(of: "last") != nil && cache.history(of: "1") == nil)
        held.shrink(to: 0)
    }

    /// Only a change that chatterd itself makes without a new version stays unseen; it shows that the kept history is used.
    @Test(arguments: [nil, HistoryReach(tokens: 1_000, bytesPerToken: 1)])
    func keptHistoryIsUsedUntilItsVersionChanges(reach: HistoryReach?) async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let seed = (0..<100).map {
                ModelMessage(role: $0 % 2 == 0 ? "user" : "assistant", content: "message \($0)")
            }
            try await store.replaceConversation("app", with: seed)
            let first = try await store.open("a", reach: reach)
            try await store.closeTurn(first.turn, with: first.closing("1"))
            let change = "UPDATE chatts SET message = message || '!' WHERE appid = 'app' AND seq = 99"
            try await processes.sql("SET chatterd.owner = '*'; \(change)")
            let second = try await store.open("b", reach: reach)
            #expect(second.said.suffix(4) == ["assistant message 99", "user a", "assistant 1", "user b"])
            #expect(second.said.contains("user message 98") && (second.history.skipped == nil) == (reach == nil))
            #expect(
                try await processes.second.history(of: second.turn, for: second.id).said.contains("user message 98!"))
            try await store.closeTurn(second.turn, with: second.closing("2"))
            try await processes.sql(change)
            #expect(try await store.open("c", reach: reach).said.contains("user message 98!!"))
        }
    }

    @Test func deletedConversationIsNotKept() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let seed = (0..<100).map { ModelMessage(role: "user", content: "\($0)") }
            try await store.replaceConversation("app", with: seed)
            try await store.exchange("a", "1")
            #expect(store.histories.history(of: "app") != nil)
            try await store.deleteConversation("app")
            #expect(store.histories.byteCount == 0)
        }
    }

    /// A prompt with a known window reads the rows of the window, with and without a cache.
    @Test func rowsBeyondTheWindowAreNotRead() async throws {
        try await StoreProcesses.run(historyCache: 0) { processes in
            let store = processes.first
            let seed =
                [ModelMessage(role: "system", content: "s")]
                + (0..<4_000).map { ModelMessage(role: $0 % 2 == 0 ? "user" : "assistant", content: "message \($0)") }
            try await store.replaceConversation("app", with: seed)
            let opened = try await store.open("last", reach: HistoryReach(tokens: 2_000, bytesPerToken: 1))
            #expect(opened.history.messages.count < 200 && opened.history.messages[0].seq == 1)
            let first = opened.history.messages[1].seq
            #expect(opened.history.skipped == 2...first - 1)
            var window = ContextWindow(tokens: 2_000, bytesPerToken: 1, reserve: 500)
            window.isMeasured = true
            let (sent, report) = try opened.history.fitted(to: window)
            let whole = try await store.history(of: opened.turn, for: opened.id)
            #expect(whole.messages.count == 4_002 && whole.skipped == nil)
            let expected = try whole.fitted(to: window)
            #expect(sent.json.string == expected.messages.json.string && report == expected.report)
            #expect(!opened.history.covers(nil) && !opened.history.covers(ContextWindow(tokens: 100_000, reserve: 0)))
        }
    }
}
