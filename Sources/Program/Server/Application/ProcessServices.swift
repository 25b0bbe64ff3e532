import ChatterdBasics
import ChatterdChat
import ChatterdConfiguration
import ChatterdIdentity
import ChatterdJSONLog
import ChatterdPostgres
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdTools

/// The services that all shards of the process share. Safe on any thread.
final class ProcessServices: Sendable {
    let configuration: Configuration
    let log: Log
    let limits: RelayLimits
    let memory: MemoryBudget
    /// The histories of long conversations.
    let histories: HistoryCache
    let lease: ProcessLease
    /// The open turns of the process.
    let turns: TurnBoard
    /// The shard that makes each reply.
    let directory: ReplyDirectory
    let estimates: TokenEstimates
    /// The queues of the model servers.
    let slots: SlotQueue
    /// The conversations that feeds of the process follow.
    let signals = ConversationSignals()
    /// The open feeds of the process.
    let feedSlots = FeedSlots()
    /// The programs that run for tools.
    let programs = ProgramSlots()
    /// The servers that have further tools.
    let toolServers: MCPServers
    /// Sends spans to a collector; `nil` without tracing.
    let exporter: SpanExporter?
    /// Begins traces; `nil` without tracing.
    let tracer: Tracer?
    /// The keys that sign tokens, and the revocations.
    let access: AccessRegistry
    /// The use of credentials.
    let usage: UsageStore
    /// The limits of the stored text of apps and of people.
    let quota: TextQuota
    /// Checks the tokens of external issuers.
    let issuers: IssuerVerifier

    /// Makes the services.
    ///
    /// - Parameters:
    ///   - home: the pools of the first shard, which runs the queues and fetches the keys of issuers.
    ///   - keeperPool: that of `ProcessKeeper`, for the revocations.
    init(_ configuration: Configuration, home: ShardPools, keeperPool: PostgresPool, log: Log) {
        self.configuration = configuration
        self.log = log
        limits = configuration.relay
        memory = MemoryBudget(ofProcess: configuration.server.memory)
        histories = HistoryCache(limit: configuration.store.historyCache, budget: memory)
        lease = ProcessLease(id: .random())
        turns = TurnBoard(limits: limits)
        directory = ReplyDirectory()
        estimates = TokenEstimates { target, report in
            log.event(
                .warning, "model server cut the prompt", .upstream(target.upstream.description.name),
                .model(target.model), .count(report.promptTokens ?? 0))
        }
        slots = SlotQueue(
            store: PostgresSlotStore(pool: home.pool, lease: lease), limits: limits,
            scheduler: Scheduler(on: home.shard))
        let tracing = configuration.tracing
        exporter = SpanExporter(
            tracing, stopLimit: configuration.fixedTimeouts.lastSpans, on: home.shard, log: log)
        tracer = exporter.map { Tracer(tracing.sampler, exporter: $0) }
        access = AccessRegistry(
            store: AppKeyStore(pool: home.pool), polled: AppKeyStore(pool: keeperPool),
            sessions: SessionStore(pool: home.pool), log: log)
        usage = UsageStore(pool: home.pool, lease: lease)
        quota = TextQuota(
            TextQuota.Limits(app: configuration.store.textLimit, person: configuration.store.personTextLimit),
            pool: home.readers)
        toolServers = MCPServers(
            configuration.tools.servers, taken: configuration.tools.list.map(\.name), on: home.shard
        ) { report in
            guard !report.problems.isEmpty else {
                log.event(.info, "tools of a server", .tool(report.server), .count(report.count))
                return
            }
            log.event(
                .warning, "tools of a server", .tool(report.server), .count(report.count),
                .error(report.problems.joined(separator: "; ")))
        }
        issuers = IssuerVerifier(configuration.access.issuers, on: home.shard, log: log)
    }
}

extension ReplyID {
    /// A new id of version 4.
    static func random() -> ReplyID {
        var generator = SystemRandomNumberGenerator()
        return ReplyID(using: &generator)
    }

    /// A new id of a reply.
    static func random(in partition: Partition) -> ReplyID {
        var generator = SystemRandomNumberGenerator()
        return ReplyID(in: partition, using: &generator)
    }
}
