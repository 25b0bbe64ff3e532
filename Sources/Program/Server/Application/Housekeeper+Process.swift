import ChatterdBasics
import ChatterdConfiguration
import ChatterdJSONLog
import ChatterdMetrics
import ChatterdPostgresStore
import ChatterdRelay

extension Housekeeper {
    /// The housekeeper of the process, on the first shard.
    convenience init(
        _ process: ProcessServices, home: ShardPools, services: ShardedServices, registry: UpstreamRegistry
    ) {
        let services = services.home
        let trims = Confined(TrimSchedule(), to: home.shard)
        let store = PostgresConversationStore(
            pool: home.pool, lease: process.lease, historyLimit: process.configuration.store.historyLimit,
            hooks: process.configuration.hooks.toldOfEnds)
        self.init(
            store: store, turns: process.turns, retention: process.configuration.store.retention,
            // The pool logs failures. The next round retries.
            adopt: { try? await services.value.chat.adoptAbandoned() },
            resolve: { await services.value.chat.resolveUnconfirmed() },
            settle: { [usage = process.usage] in await usage.settlePending() },
            refreshUpstreams: {
                await process.memory.trimAllocator(trims.value)
                try? await registry.refresh()
            },
            observe: { [log = process.log, counts = home.counts] event in
                switch event {
                case .roundEnded:
                    counts.value.set(.housekeeping, to: Int(WallClock.nanoseconds() / 1_000))
                case .retained(let lag): counts.value.set(.retentionLag, to: Int(clamping: lag.nanoseconds / 1_000))
                case .processDied: log.event(.warning, "another process has died")
                case .settled(let count):
                    counts.value.add(count, to: .takeovers, "settled")
                    log.event(.warning, "replies of a dead process closed", .count(count))
                }
            })
    }
}
