import CChatterdSystem
import ChatterdBasics
import ChatterdChat
import ChatterdConfiguration
import ChatterdHTTPServer
import ChatterdMetrics
import ChatterdPostgres
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets

/// Collects the metrics of the process for a scrape: the counts of all shards, and the gauges.
struct MetricsCollector: Sendable {
    let process: ProcessServices
    let pools: [ShardPools]
    let services: ShardedServices
    /// The pool of `ProcessKeeper`, and what its shard counts.
    let keeper: (pool: PostgresPool, counts: Confined<MetricCounts>)
    let registry: UpstreamRegistry
    let server: Server
    /// The certificate of HTTPS.
    let identity: TLSIdentity?
    let series: SeriesLimit

    /// The newest migration of the program.
    /// The time that the shards have to answer.
    static let timeout = Duration.seconds(5)

    /// Collects all metrics, on the shard of the caller.
    ///
    /// - Throws: at the timeout, as sums without one of the shards would be wrong.
    func collect(on shard: Shard) async throws(TimeoutError) -> MetricCounts {
        let begun = Shard.readClock()
        let (figures, own, slots) = try await shard.withTimeout(Self.timeout) {
            async let slots = process.slots.figures()
            return (await shardFigures(begun), await keeperFigures(), await slots)
        }
        let counts = MetricCounts(series)
        counts.add(own.counts)
        for figures in figures {
            counts.add(figures.counts)
        }
        addZeros(to: counts)
        addShards(figures, to: counts)
        addStore(figures, own.pool, to: counts)
        addUpstreams(slots, to: counts)
        // Older systems list the descriptors for it.
        let openFiles = max(0, Int(csystem_open_descriptors()))
        addProcess(openFiles: openFiles, to: counts)
        addLimits(figures, slots, openFiles: openFiles, to: counts)
        return counts
    }

    // MARK: - Other shards

    private func shardFigures(_ begun: Instant) async -> [ShardFigures] {
        await withTaskGroup(of: ShardFigures.self) { group in
            for pools in pools {
                group.addTask { await ShardFigures.taken(of: pools, services, begun: begun) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    private func keeperFigures() async -> (counts: MetricCounts.Snapshot, pool: PoolFigures) {
        await withCheckedContinuation { continuation in
            keeper.pool.shard.run {
                continuation.resume(returning: (keeper.counts.value.snapshot, keeper.pool.figures))
            }
        }
    }

    // MARK: - Gauges

    /// Adds the series whose labels have words of closed sets or names of model servers, so that rates see their first count.
    ///
    /// Those with a model or a route, and the pairs of model servers, are too many.
    private func addZeros(to counts: MetricCounts) {
        for origin in ReplyEvent.Origin.allCases { counts.addZero(to: .repliesStarted, origin.rawValue) }
        for kind in ["adopted", "settled", "handed_over", "fenced"] { counts.addZero(to: .takeovers, kind) }
        for cut in ExchangeRecord.Cut.allCases { counts.addZero(to: .slowReadersCut, cut.rawValue) }
        for outcome in RequestOutcome.all {
            for entry in registry.entries { counts.addZero(to: .upstreamRequests, entry.name, outcome.word) }
        }
        for purpose in StorePurpose.allCases { counts.addZero(to: .storeTime, purpose.rawValue) }
        for code in PostgresError.Code.allCases {
            for state in code.sqlStates { counts.addZero(to: .storeErrors, code.rawValue, state ?? "none") }
        }
    }

    private func addShards(_ figures: [ShardFigures], to counts: MetricCounts) {
        for phase in ServiceFigures.Phase.allCases {
            counts.set(.replies, to: figures.reduce(0) { $0 + $1.service.replies[phase, default: 0] }, phase.rawValue)
        }
        for shard in figures {
            counts.set(.eventLoopDelay, to: shard.delay.cell, String(shard.index))
        }
        counts.set(.readers, to: figures.reduce(0) { $0 + $1.service.readers }, "reply")
        counts.set(.readers, to: process.feedSlots.count, "feed")
        counts.set(.pieces, to: figures.reduce(0) { $0 + $1.service.pieces })
        counts.set(.journalUnwritten, to: figures.reduce(0) { $0 + $1.service.unwritten })
        counts.set(.journalLag, to: (services.journal?.lag(at: Shard.readClock()) ?? .zero).cell)
    }

    private func addStore(_ figures: [ShardFigures], _ keeper: PoolFigures, to counts: MetricCounts) {
        func add(_ pool: PoolFigures, _ shard: String, _ purpose: StorePurpose) {
            counts.set(.storeConnections, to: pool.busy, shard, purpose.rawValue, "busy")
            counts.set(.storeConnections, to: pool.idle, shard, purpose.rawValue, "idle")
            counts.set(.storeConnections, to: pool.connecting, shard, purpose.rawValue, "connecting")
            counts.set(.storeWaiting, to: pool.waiting, shard, purpose.rawValue)
        }
        for shard in figures {
            for (purpose, pool) in shard.pools { add(pool, String(shard.index), purpose) }
        }
        add(keeper, "keeper", .process)
        counts.set(.storeWritable, to: self.keeper.pool.health.fault == nil ? 1 : 0)
        counts.set(.leaseAge, to: process.lease.age(at: Shard.readClock()).cell)
    }

    private func addUpstreams(_ slots: [String: SlotFigures], to counts: MetricCounts) {
        let now = Shard.readClock()
        for entry in registry.entries {
            guard let resolved = entry.resolved else {
                counts.set(.upstreamUp, to: 0, entry.name)
                continue
            }
            let (health, description) = (resolved.health, resolved.description)
            counts.set(.upstreamUp, to: health.state(at: now) == .coolingDown ? 0 : 1, entry.name)
            counts.set(.upstreamCooldown, to: health.cooldown(at: now).cell, entry.name)
            counts.set(.upstreamRunning, to: health.running, entry.name)
            guard let all = description.slots else { continue }
            let own = slots[entry.name] ?? SlotFigures()
            counts.set(.upstreamSlots, to: own.used, entry.name, "used")
            counts.set(.upstreamSlots, to: all, entry.name, "total")
            counts.set(.upstreamQueue, to: own.waiting, entry.name)
            counts.set(.upstreamQueueLimit, to: description.queueLimit, entry.name)
        }
    }

    private func addProcess(openFiles: Int, to counts: MetricCounts) {
        counts.set(.build, to: 1, Version.current, Migration.newest)
        counts.set(.processCPU, to: Int(csystem_cpu_us()))
        counts.set(.processMemory, to: Int(csystem_resident_bytes()))
        counts.set(.processOpenFiles, to: openFiles)
        counts.set(.processMaxFiles, to: Int(csystem_soft_descriptor_limit()))
        counts.set(.processStart, to: Int(csystem_start_us()))
        counts.set(.memoryUsed, to: process.memory.usedBytes)
        counts.set(.memoryLimit, to: process.memory.limit)
        let refusals = process.memory.refusals
        for use in MemoryUse.allCases {
            counts.set(.memoryRefusals, to: refusals[use] ?? 0, "\(use)")
        }
        if let spans = process.exporter?.figures {
            counts.set(.spans, to: spans.sent, "sent")
            counts.set(.spans, to: spans.dropped, "dropped")
        }
        if let end = identity?.current.certificateEnd {
            counts.set(.certificateEnd, to: Int(end) * MetricFamily.Unit.seconds.one)
        }
    }

    /// Adds how much of each limit is in use.
    private func addLimits(
        _ figures: [ShardFigures], _ slots: [String: SlotFigures], openFiles: Int, to counts: MetricCounts
    ) {
        let configuration = process.configuration
        func add(_ name: String, _ used: Int, of limit: Int) {
            let ratio = Double(used) / Double(max(1, limit)) * Double(MetricFamily.Unit.ratio.one)
            counts.set(.limitUsage, to: Int(min(ratio.rounded(), 1e15)), name)
        }
        let connections = configuration.http.connections * max(1, server.boundAddresses.count)
        counts.set(.connections, to: server.connectionCount)
        counts.set(.connectionsLimit, to: connections)
        add("connections", server.connectionCount, of: connections)

        let replies = process.limits.maximumReplies
        counts.set(.repliesLimit, to: replies)
        add("replies", process.turns.count, of: replies)

        let store = configuration.store.connections * pools.count
        let open = figures.flatMap(\.pools.values)
        counts.set(.storeConnectionsLimit, to: store)
        add("store_connections", open.reduce(0) { $0 + $1.busy + $1.idle + $1.connecting }, of: store)
        counts.set(.storeWaitingLimit, to: configuration.store.maximumWaiting)
        add("store_waiting", open.map(\.waiting).max() ?? 0, of: configuration.store.maximumWaiting)

        add("memory", process.memory.usedBytes, of: process.memory.limit)
        add("open_files", openFiles, of: Int(csystem_soft_descriptor_limit()))
        add("feeds", process.feedSlots.count, of: FeedSlots.limit)
        let queues = registry.entries.compactMap(\.resolved?.description).compactMap { description -> Double? in
            guard description.slots != nil, description.queueLimit > 0 else { return nil }
            return Double(slots[description.name]?.waiting ?? 0) / Double(description.queueLimit)
        }
        if let fullest = queues.max() {
            counts.set(.limitUsage, to: Int(fullest * Double(MetricFamily.Unit.ratio.one)), "queue")
        }
    }
}

extension Duration {
    /// The cell of a metric in seconds.
    fileprivate var cell: Int { Int(clamping: nanoseconds / 1_000) }
}
