import HTTP
import HTTPClient
import LanguageModels
import Postgres
import Relay
import Sockets

/// All that a shard needs to answer requests without leaving it.
final class ShardServices: Sendable {
    let shard: Shard
    let pool: PostgresPool
    let client: HTTPClient
    let chat: ChatService
    let board: ChatBoard
    /// Where `/llmprompt` goes, if any upstream can take it.
    let generator: Generator?

    /// Wires the services of one shard.
    ///
    /// - Throws: what the configuration's upstreams lack.
    init(
        shard: Shard, configuration: Configuration, upstreams: [Configuration.Upstream], target: ConnectionTarget,
        turns: TurnBoard, directory: ReplyDirectory, lease: ProcessLease, log: Log
    ) throws(StartError) {
        self.shard = shard
        var store = PostgresConfiguration(target: target)
        store.connections = configuration.store.connections
        store.maximumWaiting = configuration.store.waiting
        store.timeLimit = configuration.store.timeout
        store.patience = configuration.store.timeout
        store.log = { log.event(.warning, "database", .error($0)) }
        pool = PostgresPool(store, on: shard)

        var limits = HTTPClientLimits()
        limits.idleConnections = configuration.upstreams.connections
        limits.connect = configuration.upstreams.connectTimeout
        client = HTTPClient(shard: shard, limits: limits)

        var entries: [Upstream] = []
        var generator: Generator?
        for upstream in upstreams {
            switch upstream.backend {
            case .ollama(let url):
                let description = Self.description(of: upstream, .ollama, url: url.description)
                let origin: Origin
                do {
                    origin = try description.origin()
                } catch {
                    throw StartError("The URL of the upstream \(upstream.name) cannot be used: \(error)")
                }
                let model = UpstreamModel(
                    description, origin: origin, key: upstream.key?.value, client: client, shard: shard,
                    now: WallClock.nanoseconds)
                entries.append(Upstream(description, model: model, health: UpstreamHealth()))
                generator =
                    generator
                    ?? Generator(
                        client: client, origin: model.origin, fields: model.fields, limits: upstream.limits)
            case .echo:
                let model = EchoModel(shard: shard, now: WallClock.nanoseconds)
                entries.append(
                    Upstream(Self.description(of: upstream, .echo), model: model, health: UpstreamHealth()))
            }
        }
        guard !entries.isEmpty else {
            throw StartError("There is no upstream: set OLLAMA_URL or CHATTERD_UPSTREAMS, or CHATTERD_ECHO=1.")
        }
        self.generator = generator

        chat = ChatService(
            store: PostgresConversationStore(
                pool: pool, lease: lease, historyLimit: configuration.relay.historyLimit,
                keyLifetime: configuration.relay.keyLifetime),
            upstreams: UpstreamDirectory(entries), limits: RelayLimits(configuration), board: turns,
            directory: directory,
            scheduler: Scheduler(
                makeAlarm: { DeadlineTimer(on: shard, handler: $0) }, run: { shard.run($0) },
                spawn: { body in Task(executorPreference: shard) { await body() } }, now: { shard.now },
                timeOfDay: WallClock.nanoseconds),
            makeID: {
                var generator = SystemRandomNumberGenerator()
                return ReplyID(using: &generator)
            })
        board = ChatBoard(pool: pool, limit: configuration.relay.boardLimit)
    }

    private static func description(
        of upstream: Configuration.Upstream, _ kind: UpstreamDescription.Kind, url: String = ""
    ) -> UpstreamDescription {
        var description = UpstreamDescription(name: upstream.name, kind: kind, url: url)
        description.models = upstream.models
        description.limits = upstream.limits
        return description
    }
}

extension DeadlineTimer: Alarm {}

extension RelayLimits {
    /// The limits that the configuration gives.
    init(_ configuration: Configuration) {
        self.init()
        failoverAttempts = configuration.relay.failoverAttempts
        rescueAttempts = configuration.relay.rescueAttempts
        replies = configuration.relay.maximumReplies
        waitingTurns = configuration.relay.maximumWaitingTurns
        disconnectGrace = configuration.relay.disconnectGrace
        storePatience = configuration.store.patience
        journalTick = configuration.relay.journalTick
    }
}

/// Why the server could not be started, in words for whoever started it.
public struct StartError: Error, Sendable, CustomStringConvertible {
    /// The words.
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}
