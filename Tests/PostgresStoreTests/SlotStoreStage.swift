import ChatterdIdentity
import ChatterdPostgres
import ChatterdSockets
import ChatterdTestSupport

@testable import ChatterdPostgresStore
@testable import ChatterdRelay

/// The queues of several processes on a fresh database. Confined to its shard.
struct SlotStoreStage: Sendable {
    let processes: StoreProcesses
    /// The stores of each process, all on the pool of the test.
    let slots: [PostgresSlotStore]
    /// The same, each with its own shard and connections.
    let apart: [PostgresSlotStore]

    /// Runs `body` on a shard.
    static func run(
        processes count: Int = 2, _ body: @escaping @Sendable (SlotStoreStage) async throws -> Void
    ) async throws {
        try await StoreProcesses.run(count: count) { processes in
            var pools: [PostgresPool] = []
            for index in 0..<count {
                var configuration = PostgresConfiguration(target: try ConnectionTarget(processes.conninfo))
                configuration.timeLimit = .seconds(600)
                configuration.connectionTimeout = .seconds(600)
                pools.append(PostgresPool(configuration, on: try Shard(index: index + 1)))
            }
            let stage = SlotStoreStage(
                processes: processes,
                slots: processes.stores.map { PostgresSlotStore(pool: processes.pool, lease: $0.lease) },
                apart: zip(pools, processes.stores).map { PostgresSlotStore(pool: $0, lease: $1.lease) })
            let outcome: Result<Void, any Error>
            do {
                for store in processes.stores {
                    // Each process generates replies, so it counts as alive.
                    _ = try await store.open("p", in: "alive")
                }
                outcome = .success(try await body(stage))
            } catch {
                outcome = .failure(error)
            }
            for pool in pools {
                await pool.shutDown()
            }
            try outcome.get()
        }
    }

    /// The ticket of a new reply of a process.
    func ticket(_ conversation: ConversationKey, slots: Int = 1, by process: Int = 0) async throws -> SlotTicket {
        let opened = try await processes.stores[process].open("p", in: conversation)
        return SlotTicket(upstream: "u", slots: slots, reply: opened.id, owner: Self.owner(of: conversation))
    }

    /// The owner of a conversation, as tickets have it.
    static func owner(of conversation: ConversationKey) -> String { conversation.owner.keyPrefix }

    /// The apps in the queue.
    func waiting() async throws -> [String] {
        try await processes.sql("SELECT split_part(appid, E'\\x1F', 1) FROM chatterd_queue ORDER BY 1").map { $0[0] }
    }
}
