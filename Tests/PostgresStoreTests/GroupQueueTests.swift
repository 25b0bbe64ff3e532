import ChatterdBasics
import ChatterdIdentity
import ChatterdSockets
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore

/// Which changes share a transaction.
@Suite(.timeLimit(.minutes(30))) struct GroupQueueTests {
    private typealias Changes = GroupQueue<Int, String>

    /// What became of a change.
    private enum End: Equatable {
        case alone
        case led([Int])
        case done(String)
    }

    @Test func changesRunAloneWhileFewRun() async throws {
        try await onShard { shard in
            let queue = Changes(on: shard, timeout: .seconds(3_600))
            #expect(await run(0, of: "a", in: queue) == .alone)
            #expect(await run(1, of: "b", in: queue) == .alone)
        }
    }

    @Test func waitingChangesFollowTheFirst() async throws {
        let ends = try await ends(of: [("a", 0), ("b", 0), ("c", 0)])
        #expect(ends == [.led([1, 2]), .done("1"), .done("2")])
    }

    @Test func changesOfOneConversationNeverShareATransaction() async throws {
        #expect(
            try await ends(of: [("a", 0), ("a", 0), ("b", 0), ("b", 0)])
                == [.led([2]), .led([3]), .done("2"), .done("3")])
    }

    @Test func groupHasALimitOfBytes() async throws {
        let half = Changes.mostBytes / 2
        #expect(
            try await ends(of: [("a", half), ("b", half + 1), ("c", half), ("d", .max)])
                == [.led([2]), .alone, .done("2"), .alone])
    }

    @Test func groupHasALimitOfChanges() async throws {
        let ends = try await ends(of: (0..<Changes.mostChanges + 1).map { ("\($0)", 0) })
        #expect(ends.first == .led(Array(1..<Changes.mostChanges)))
        #expect(ends.last == .alone)
    }

    @Test func changesOfDifferentScopesNeverShareATransaction() async throws {
        let ends = try await ends(
            of: [("a", 0), ("b", 0), ("c", 0)],
            scopes: [RowScope(Owner(app: "x")), RowScope(Owner(app: "y")), RowScope(Owner(app: "x"))])
        #expect(ends == [.led([2]), .alone, .done("2")])
    }

    /// Texts that are equal as Unicode are other texts for PostgreSQL.
    @Test func scopesDifferByTheirBytes() async throws {
        let scopes = ["\u{E9}", "e\u{301}"].map { RowScope(Owner(app: $0)) }
        #expect(try await ends(of: [("a", 0), ("b", 0)], scopes: scopes) == [.alone, .alone])
    }

    @Test func changesOfDifferentScopesDoNotWaitForEachOther() async throws {
        try await onShard { shard in
            let queue = Changes(on: shard, timeout: .seconds(3_600))
            for number in 0..<Changes.mostRunning {
                await RowScope.$current.withValue(RowScope(Owner(app: "\(number)"))) {
                    guard case .alone = await queue.enter(Changes.Entry(0, of: "held", bytes: 0)) else {
                        Issue.record("\(number) waits")
                        return
                    }
                }
            }
            let confined = Confined(queue, to: shard)
            let last = Task(executorPreference: shard) { await run(1, of: "a", in: confined.value) }
            while queue.waitingCount == 0 { await Task.yield() }
            RowScope.$current.withValue(RowScope(Owner(app: "5"))) { queue.leave() }
            #expect(await last.value == .alone)
        }
    }

    @Test func changeWithoutAnOutcomeRunsAlone() async throws {
        #expect(try await ends(of: [("a", 0), ("b", 0)], failing: [1]) == [.led([1]), .alone])
    }

    @Test func transactionThatDoesNotEndDelaysNoOther() async throws {
        try await onShard { shard in
            let queue = Changes(on: shard, timeout: .zero)
            for _ in 0..<Changes.concurrency { _ = await queue.enter(Changes.Entry(0, of: "held", bytes: 0)) }
            #expect(await run(1, of: "a", in: queue) == .alone)
        }
    }

    /// The ends of changes that wait together, while as many transactions run as may.
    private func ends(
        of changes: [(conversation: String, bytes: Int)], scopes: [RowScope?] = [], failing: [Int] = []
    ) async throws -> [End] {
        try await onShard { shard in
            let queue = Changes(on: shard, timeout: .seconds(3_600))
            var held: [RowScope?] = []
            for index in changes.indices {
                let scope = index < scopes.count ? scopes[index] : nil
                guard !held.contains(scope) else { continue }
                held += Array(repeating: scope, count: Changes.concurrency)
            }
            for scope in held {
                await RowScope.$current.withValue(scope) {
                    _ = await queue.enter(Changes.Entry(0, of: "held", bytes: 0))
                }
            }
            var tasks: [Task<End, Never>] = []
            for (index, change) in changes.enumerated() {
                let confined = Confined(queue, to: shard)
                let scope = index < scopes.count ? scopes[index] : nil
                tasks.append(
                    Task(executorPreference: shard) {
                        await RowScope.$current.withValue(scope) {
                            await run(
                                index, of: ConversationKey(parsing: change.conversation), bytes: change.bytes,
                                failing: failing, in: confined.value)
                        }
                    })
                // Tasks of a shard run in their order.
                while queue.waitingCount <= index { await Task.yield() }
            }
            for scope in held { RowScope.$current.withValue(scope) { queue.leave() } }
            var ends: [End] = []
            for task in tasks { ends.append(await task.value) }
            return ends
        }
    }

    private func run(
        _ change: Int, of conversation: ConversationKey, bytes: Int = 0, failing: [Int] = [], in queue: Changes
    ) async -> End {
        switch await queue.enter(Changes.Entry(change, of: conversation, bytes: bytes)) {
        case .alone:
            queue.leave()
            return .alone
        case .leads(let followers):
            queue.leave()
            for follower in followers {
                let number = follower.entry.change
                queue.resume(follower, with: failing.contains(number) ? nil : "\(number)")
            }
            return .led(followers.map(\.entry.change))
        case .done(let outcome):
            return .done(outcome)
        }
    }

    private func onShard<Value: Sendable>(
        _ body: @escaping @Sendable (Shard) async throws -> Value
    ) async throws -> Value {
        let shard = try Shard(index: 0)
        return try await Task(executorPreference: shard) { try await body(shard) }.value
    }
}
