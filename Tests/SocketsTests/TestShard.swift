import ChatterdSockets
import Synchronization

/// A few shards for all tests.
enum TestShard {
    private static let all: Result<[Shard], SocketError> = {
        do throws(SocketError) {
            return .success(try Shard.makeAll(count: 2))
        } catch {
            return .failure(error)
        }
    }()
    private static let next = Atomic(0)

    /// Two of them.
    static func pair() throws -> (Shard, Shard) {
        let shards = try all.get()
        return (shards[0], shards[1])
    }

    /// One of them.
    static func any() throws -> Shard {
        let shards = try all.get()
        return shards[next.wrappingAdd(1, ordering: .relaxed).oldValue % shards.count]
    }
}
