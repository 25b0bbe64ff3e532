import ChatterdBasics
import ChatterdMetrics
import ChatterdPostgres
import ChatterdRelay
import ChatterdSockets

/// What a shard has counted, and what it does at the moment of a scrape.
struct ShardFigures: Sendable {
    let index: Int
    /// The time between the request of the scrape and its turn on the shard.
    let delay: Duration
    let counts: MetricCounts.Snapshot
    let service: ServiceFigures
    let pools: [StorePurpose: PoolFigures]

    /// Takes the figures on their shard. That takes microseconds, and some tens of nanoseconds for each running reply.
    ///
    /// - Parameter begun: the beginning of the scrape.
    static func taken(of pools: ShardPools, _ services: ShardedServices, begun: Instant) async -> ShardFigures {
        await withCheckedContinuation { continuation in
            pools.shard.run {
                let services = services[pools.shard]
                services.upstreams.directory.refreshIfModelIsMissing()
                continuation.resume(
                    returning: ShardFigures(
                        index: pools.shard.index, delay: max(.zero, pools.shard.now - begun),
                        counts: pools.counts.value.snapshot, service: services.chat.figures,
                        pools: [.prompts: pools.pool.figures, .pages: pools.readers.figures]))
            }
        }
    }
}
