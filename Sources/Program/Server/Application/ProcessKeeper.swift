import ChatterdBasics
import ChatterdConfiguration
import ChatterdJSONLog
import ChatterdMetrics
import ChatterdPostgres
import ChatterdPostgresStore
import ChatterdSockets

/// What must not wait for requests: the lease of the process, and the revocations. It has an event loop and connections of its own, so no
/// request can cost the process its replies or keep a credential alive, however long it holds a shard or a connection.
public final class ProcessKeeper: Sendable {
    /// The number of its connections.
    public static let connections = 2

    let pool: PostgresPool
    private let renewal: Confined<LeaseRenewal>
    private let revocations: Confined<RevocationPoller>

    private var shard: Shard { pool.shard }

    /// The time for which a renewal waits for a connection before it uses one of the first shard.
    private static let connectionTimeout = Duration.seconds(2)
    /// The time after which a statement counts as lost: renewals continue on another connection before the lease expires.
    private static let timeLimit = Duration.seconds(3)

    /// Makes the pool without opening a connection. There are two connections, with one statement each: the revocations are read while a
    /// commit of the lease stalls.
    ///
    /// - Parameters:
    ///   - home: the pool of the first shard, for a server that has no connection left.
    ///   - counts: what the shard counts.
    static func pool(
        on shard: Shard, _ store: Configuration.Store, target: ConnectionTarget, home: PostgresPool,
        counts: Confined<MetricCounts>, log: Log
    ) -> PostgresPool {
        var configuration = PostgresConfiguration(store, target: target, health: home.health, log: log)
        configuration.connections = connections
        configuration.count(as: .process, in: counts)
        configuration.pipelineDepth = 1
        configuration.connectionTimeout = connectionTimeout
        configuration.timeLimit = min(store.timeout, timeLimit)
        return PostgresPool(configuration, on: shard, fallback: home)
    }

    /// Makes a keeper that is not started.
    ///
    /// - Parameter revoke: ends the streams of revoked credentials on all shards; returns at once.
    init(_ process: ProcessServices, pool: PostgresPool, revoke: @escaping @Sendable (RevokedCredentials) -> Void) {
        self.pool = pool
        renewal = Confined(LeaseRenewal(of: process.lease, turns: process.turns, pool: pool), to: pool.shard)
        revocations = Confined(
            RevocationPoller(process.access, on: pool.shard) { revoke(RevokedCredentials($0)) }, to: pool.shard)
    }

    /// Begins to renew the lease, and returns when all revocations are read or could not be read.
    func start() async {
        await withTaskExecutorPreference(shard) { @concurrent [pool, renewal, revocations] in
            pool.start()
            renewal.value.start()
            await revocations.value.start()
        }
    }

    /// Stops reading revocations and renewing the lease.
    func end() async {
        await withTaskExecutorPreference(shard) { @concurrent [renewal, revocations] in
            await revocations.value.end()
            await renewal.value.end()
        }
    }
}
