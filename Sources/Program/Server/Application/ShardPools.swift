import ChatterdBasics
import ChatterdConfiguration
import ChatterdJSONLog
import ChatterdMetrics
import ChatterdPostgres
import ChatterdSockets

/// A shard's connections to the database.
struct ShardPools: Sendable {
    let shard: Shard
    /// What the shard counts, for the metrics.
    let counts: Confined<MetricCounts>
    /// The connections for short statements.
    let pool: PostgresPool
    /// The connection for large results: pages of replies, histories, the chat board. No prompt waits behind them, unless PostgreSQL has no
    /// connection left for them.
    let readers: PostgresPool

    /// Makes the pools without opening a connection. `readers` has one of the configured connections.
    init(
        on shard: Shard, _ store: Configuration.Store, target: ConnectionTarget, health: PoolHealth,
        series: SeriesLimit?, log: Log
    ) {
        self.shard = shard
        counts = Confined(MetricCounts(series), to: shard)
        var configuration = PostgresConfiguration(store, target: target, health: health, log: log)
        configuration.connections = max(1, store.connections - 1)
        configuration.count(as: .prompts, in: counts)
        pool = PostgresPool(configuration, on: shard)
        configuration.connections = 1
        configuration.count(as: .pages, in: counts)
        readers = PostgresPool(configuration, on: shard, fallback: pool)
    }

    /// Opens the first connection. `readers` connects when it is used.
    func start() {
        pool.start()
    }

    /// Closes all connections after the statements that are under way.
    func shutDown() async {
        await pool.shutDown()
        await readers.shutDown()
    }

    /// Closes all connections at once. The statements that are under way fail.
    func giveUp() {
        pool.giveUp()
        readers.giveUp()
    }
}
