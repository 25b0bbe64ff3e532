import ChatterdConfiguration
import ChatterdJSONLog
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
}
