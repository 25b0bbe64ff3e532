import ChatterdBasics
import ChatterdConfiguration
import ChatterdJSONLog
import ChatterdMetrics
import ChatterdPostgres

extension PostgresConfiguration {
    /// The limits of a shard's connections, as the configuration gives them; failures go to `log`.
    init(_ store: Configuration.Store, target: ConnectionTarget, health: PoolHealth, log: Log) {
        self.init(target: target)
        self.health = health
        connections = store.connections
        maximumWaiting = store.maximumWaiting
        pipelineDepth = store.pipelineDepth
        timeLimit = store.timeout
        connectionTimeout = store.timeout
        self.log = { log.event(.warning, "database", .error($0)) }
    }

    /// Has the batches of the pool counted.
    ///
    /// - Parameter counts: those of the pool's shard.
    mutating func count(as purpose: StorePurpose, in counts: Confined<MetricCounts>) {
        onBatchEnd = { time, error in
            counts.value.observe(time, in: .storeTime, purpose.rawValue)
            if let error {
                counts.value.add(to: .storeErrors, error.code.rawValue, error.sqlState ?? "none")
            }
        }
    }
}

/// What a pool is for, as metrics name it.
enum StorePurpose: String, CaseIterable {
    /// Short statements.
    case prompts
    /// Large results.
    case pages
    /// The lease and the revocations of the process.
    case process
}
