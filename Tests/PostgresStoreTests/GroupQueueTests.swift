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
            #expect(await run(0, of: "a", by: queue) == .alone)
            #expect(await run(1, of: "b", by: queue) == .alone)
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
            of: [("a", 0), ("b", 0), ("c", 0)], in: ["x", "y", "x"].map { Self.lane(of: $0) })
        #expect(ends == [.led([2]), .alone, .done("2")])
    }

    @Test func changesWithLimitsOfDifferentSourcesNeverShareATransaction() async throws {
        let ends = try await ends(
            of: [("a", 0), ("b", 0), ("c", 0), ("d", 0), ("e", 0)],
            in: [.key("x"), .key("y"), nil, .key("x"), nil].map { Changes.Lane(source: $0) })
        #expect(ends == [.led([3]), .alone, .led([4]), .done("3"), .done("4")])
    }

    /// Texts that are equal as Unicode are other texts for PostgreSQL.
    @Test func scopesAndSourcesDifferByTheirBytes() async throws {
        let names = ["\u{E9}", "e\u{301}"]
        for lanes in [names.map { Self.lane(of: $0) }, names.map { Changes.Lane(source: .issuers(of: $0)) }] {
            #expect(try await ends(of: [("a", 0), ("b", 0)], in: lanes) == [.alone, .alone])
        }
    }

    @Test func changesOfDifferentScopesDoNotWaitForEachOther() async throws {
        try await onShard { shard in
            let queue = Changes(on: shard, timeout: .seconds(3_600))
            for number in 0..<Changes.mostRunning {
                let entry = Changes.Entry(0, of: "held", in: Self.lane(of: "\(number)"), bytes: 0)
                guard case .alone = await queue.enter(entry) else {
                    Issue.record("\(number) waits")
                    return
                }
            }
            let confined = Confined(queue, to: shard)
            let last = Task(executorPreference: shard) { await run(1, of: "a", by: confined.value) }
            while queue.waitingCount == 0 { await Task.yield() }
            queue.leave(Self.lane(of: "5"))
            #expect(await last.value == .alone)
        }
    }

    @Test func changeWithoutAnOutcomeRunsAlone() async throws {
        #expect(try await ends(of: [("a", 0), ("b", 0)], failing: [1]) == [.led([1]), .alone])
    }

    @Test func transactionThatDoesNotEndDelaysNoOther() async throws {
        try await onShard { shard in
            let queue = Changes(on: shard, timeout: .zero)
            for _ in 0..<Changes.concurrency {
                _ = await queue.enter(Changes.Entry(0, of: "held", in: Changes.Lane(), bytes: 0))
            }
            #expect(await run(1, of: "a", by: queue) == .alone)
        }
    }

    /// The lane of the changes of an app.
    private static func lane(of app: String) -> Changes.Lane { Changes.Lane(scope: RowScope(Owner(app: app))) }

    /// The ends of changes that wait together, while as many transactions run as may.
    ///
    /// - Parameter lanes: the lane of each change; all of them are in one without it.
    private func ends(
        of changes: [(conversation: String, bytes: Int)], in lanes: [Changes.Lane]? = nil, failing: [Int] = []
    ) async throws -> [End] {
        let lanes = lanes ?? Array(repeating: Changes.Lane(), count: changes.count)
        return try await onShard { shard in
            let queue = Changes(on: shard, timeout: .seconds(3_600))
            var held: [Changes.Lane] = []
            for lane in lanes where !held.contains(lane) {
                held += Array(repeating: lane, count: Changes.concurrency)
            }
            for lane in held {
                _ = await queue.enter(Changes.Entry(0, of: "held", in: lane, bytes: 0))
            }
            var tasks: [Task<End, Never>] = []
            for (index, change) in changes.enumerated() {
                let confined = Confined(queue, to: shard)
                tasks.append(
                    Task(executorPreference: shard) {
                        await run(
                            index, of: ConversationKey(parsing: change.conversation), in: lanes[index],
                            bytes: change.bytes, failing: failing, by: confined.value)
                    })
                // Tasks of a shard run in their order.
                while queue.waitingCount <= index { await Task.yield() }
            }
            for lane in held { queue.leave(lane) }
            var ends: [End] = []
            for task in tasks { ends.append(await task.value) }
            return ends
        }
    }

    private func run(
        _ change: Int, of conversation: ConversationKey, in lane: Changes.Lane = Changes.Lane(), bytes: Int = 0,
        failing: [Int] = [], by queue: Changes
    ) async -> End {
        switch await queue.enter(Changes.Entry(change, of: conversation, in: lane, bytes: bytes)) {
        case .alone:
            queue.leave(lane)
            return .alone
        case .leads(let followers):
            queue.leave(lane)
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
