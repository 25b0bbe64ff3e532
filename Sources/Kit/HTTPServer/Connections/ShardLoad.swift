import ChatterdBasics

/// The number of connections of each shard. All shards share it.
final class ShardLoad: Sendable {
    private struct State {
        /// Open connections by the index of their shard.
        var open: [Int]
        /// Callers that wait for the end of the last connection.
        var waiters: [CheckedContinuation<Void, Never>] = []

        var isEmpty: Bool { open.allSatisfy { $0 == 0 } }
    }

    private let state: Lock<State>

    init(shards: Int) {
        state = Lock(State(open: Array(repeating: 0, count: shards)))
    }

    /// Counts a new connection to the shard that has the fewest, and returns the index of the shard.
    func assign() -> Int {
        state.withLock { state in
            var least = 0
            for index in state.open.indices where state.open[index] < state.open[least] {
                least = index
            }
            state.open[least] += 1
            return least
        }
    }

    /// Counts the end of a connection of a shard.
    func release(_ shard: Int) {
        let waiters = state.withLock { state in
            state.open[shard] -= 1
            guard state.isEmpty else { return [CheckedContinuation<Void, Never>]() }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters {
            waiter.resume()
        }
    }

    /// The number of connections.
    var total: Int { state.withLock { $0.open.reduce(0, +) } }

    /// Returns when there is no connection.
    func waitUntilEmpty() async {
        await withCheckedContinuation { continuation in
            let isEmpty = state.withLock { state in
                if !state.isEmpty {
                    state.waiters.append(continuation)
                }
                return state.isEmpty
            }
            if isEmpty {
                continuation.resume()
            }
        }
    }
}
