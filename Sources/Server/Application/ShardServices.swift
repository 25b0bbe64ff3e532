import ChatterdBasics
import ChatterdConfiguration
import ChatterdJSONLog
import ChatterdLanguageModels
import ChatterdModelServers
import ChatterdPostgres
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets

/// All that a shard needs to answer requests without leaving it.
final class ShardServices: Sendable {
    let shard: Shard
    let pool: PostgresPool
    /// The connection for large results: pages of replies, histories, the board.
    let readers: PostgresPool
    /// None before the registry gives it some.
    let upstreams: ShardUpstreams
    let chat: ChatService
    /// The queues of the process; those of its first shard.
    let slots: SlotQueue
    let board: ChatBoard

    /// Wires the services of one shard.
    ///
    /// - Parameter slots: the queues of the process; nothing on its first shard, which makes them.
    init(
        shard: Shard, configuration: Configuration, target: ConnectionTarget, turns: TurnBoard,
        directory: ReplyDirectory, lease: ProcessLease, slots: SlotQueue?, estimates: TokenEstimates,
        memory: MemoryBudget, log: Log
    ) {
        self.shard = shard
        var store = PostgresConfiguration(target: target)
        store.connections = configuration.store.connections
        store.maximumWaiting = configuration.store.maximumWaiting
        store.timeLimit = configuration.store.timeout
        store.connectionTimeout = configuration.store.timeout
        store.log = { log.event(.warning, "database", .error($0)) }
        // One connection is reserved for large results, so that no prompt waits behind them.
        var large = store
        large.connections = 1
        readers = PostgresPool(large, on: shard)
        store.connections = max(1, store.connections - 1)
        pool = PostgresPool(store, on: shard)

        upstreams = ShardUpstreams(
            UpstreamFactory(
                shard: shard, idleConnections: configuration.upstreams.connections,
                listing: configuration.fixedTimeouts.modelListing),
            estimates: estimates)
        let scheduler = Scheduler(
            makeAlarm: { DeadlineTimer(on: shard, handler: $0) }, run: { shard.run($0) },
            spawn: { body in Task(executorPreference: shard) { await body() } }, now: { shard.now },
            timeOfDay: WallClock.nanoseconds, check: { shard.preconditionCurrent() })
        self.slots =
            slots
            ?? SlotQueue(
                store: PostgresSlotStore(pool: pool, lease: lease), limits: configuration.relay,
                scheduler: scheduler)
        chat = ChatService(
            store: PostgresConversationStore(
                pool: pool, readers: readers, lease: lease, historyLimit: configuration.store.historyLimit,
                conversationLimit: configuration.store.conversationLimit,
                memory: memory, keyLifetime: configuration.store.keyLifetime),
            upstreams: upstreams.directory, slots: self.slots, estimates: estimates,
            limits: configuration.relay, board: turns, directory: directory, scheduler: scheduler,
            makeID: {
                var generator = SystemRandomNumberGenerator()
                return ReplyID(using: &generator)
            })
        board = ChatBoard(pool: pool, readers: readers, limit: configuration.store.boardLimit, memory: memory)
    }
}

extension DeadlineTimer: Alarm {}
