import ChatterdBasics

/// How many connections there are, on each shard and together; touched by all shards.
final class Census: Sendable {
    private struct Counts {
        var open: [Int]
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let counts: Lock<Counts>

    init(shards: Int) {
        counts = Lock(Counts(open: Array(repeating: 0, count: shards)))
    }

    /// Counts a connection to the shard that has fewest, and says which that is.
    func place() -> Int {
        counts.withLock { counts in
            var least = 0
            for index in counts.open.indices where counts.open[index] < counts.open[least] {
                least = index
            }
            counts.open[least] += 1
            return least
        }
    }

    /// A connection of a shard has ended.
    func leave(_ shard: Int) {
        let waiters = counts.withLock { counts in
            counts.open[shard] -= 1
            guard counts.open.allSatisfy({ $0 == 0 }) else { return [CheckedContinuation<Void, Never>]() }
            defer { counts.waiters = [] }
            return counts.waiters
        }
        for waiter in waiters {
            waiter.resume()
        }
    }

    /// The number of connections.
    var total: Int { counts.withLock { $0.open.reduce(0, +) } }

    /// Returns when there is no connection.
    func waitUntilEmpty() async {
        await withCheckedContinuation { continuation in
            let isEmpty = counts.withLock { counts in
                guard counts.open.contains(where: { $0 > 0 }) else { return true }
                counts.waiters.append(continuation)
                return false
            }
            if isEmpty {
                continuation.resume()
            }
        }
    }
}
