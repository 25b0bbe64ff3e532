import ChatterdBasics
import ChatterdChat
import ChatterdConfiguration
import ChatterdCryptography
import ChatterdHTTPServer
import ChatterdHooks
import ChatterdIdentity
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets
import ChatterdTools
import ChatterdTracing

/// The services with which a shard answers requests. Confined to its shard.
final class ShardServices {
    /// The model servers; empty until the registry has read its list.
    let upstreams: ShardUpstreams
    let chat: ChatService
    let chatBoard: ChatBoard
    let archive: ConversationArchive
    /// The list of conversations.
    let catalogue: ConversationCatalogue
    /// The open feeds of conversations.
    let feeds: ConversationFeeds
    let authenticator: Authenticator
    let weather: WeatherSource
    /// The tools of the server.
    let tools: ResidentTools
    /// The running responses whose credentials can be revoked.
    let revocable: RevocableResponses

    /// Begins traces; `nil` without tracing.
    private let tracer: Tracer?
    /// Ids of replies and traces.
    private let random: BufferedRandom
    /// Counts and logs what happens to replies.
    let observe: (ReplyEvent) -> Void
    /// Counts and logs messages to hooks.
    let observeHook: (HookCall) -> Void

    /// The span of a request to a model, which begins with the first call; `nil` without tracing.
    @discardableResult func trace(of request: Request, _ responder: Responder) -> TraceContext? {
        guard let tracer else { return nil }
        if let trace = responder.notes.trace { return trace.context }
        let trace = tracer.begin(request.fields, random: random)
        responder.notes.trace = trace
        return trace.context
    }

    /// Ends the response of a request when its credential is revoked.
    func watch(_ principal: Principal) -> RevocationWatch {
        RevocationWatch(responses: revocable, principal: principal)
    }

    /// Makes the services of a shard from those of the process.
    init(_ process: ProcessServices, pools: ShardPools) {
        let configuration = process.configuration
        var random = BufferedRandom()
        self.random = random
        tracer = process.tracer
        let observer = ReplyObserver(
            pools.counts, log: process.log, tracer: process.tracer, now: { [shard = pools.shard] in shard.now })
        observe = { observer.observe($0) }
        observeHook = { observer.observe($0) }
        upstreams = ShardUpstreams(
            UpstreamFactory(
                shard: pools.shard, idleConnections: configuration.upstreams.connections,
                listing: configuration.fixedTimeouts.modelListing),
            estimates: process.estimates)
        tools = ResidentTools(
            configuration.tools.list, servers: process.toolServers, programs: process.programs, on: pools.shard,
            observe: { observer.observe($0) })
        let hooks = OperatorHooks(
            configuration.hooks.list, on: pools.shard, memory: process.memory,
            maximumText: configuration.upstreams.defaults.limits.answer, now: WallClock.nanoseconds,
            makeID: { "\(ReplyID.random())" },
            observe: observeHook)
        chat = ChatService(
            store: PostgresConversationStore(
                pool: pools.pool, readers: pools.readers, lease: process.lease,
                historyLimit: configuration.store.historyLimit,
                conversationLimit: configuration.store.conversationLimit,
                attachmentsLimit: configuration.store.attachmentsLimit, quota: process.quota, memory: process.memory,
                histories: process.histories, keyLifetime: configuration.store.keyLifetime, signals: process.signals,
                hooks: configuration.hooks.toldOfEnds),
            upstreams: upstreams.directory, slots: process.slots, estimates: process.estimates,
            limits: process.limits, board: process.turns, directory: process.directory,
            scheduler: Scheduler(on: pools.shard), tools: tools, hooks: hooks,
            makeID: { ReplyID(in: $0, using: &random) },
            makeTraceID: process.tracer.map { _ in { TraceID(random) } }, observe: observe)
        chatBoard = ChatBoard(
            pool: pools.pool, readers: pools.readers, limit: configuration.store.boardLimit, memory: process.memory)
        archive = ConversationArchive(
            pool: pools.pool, readers: pools.readers, conversationLimit: configuration.store.conversationLimit,
            attachmentsLimit: configuration.store.attachmentsLimit, quota: process.quota, memory: process.memory,
            signals: process.signals)
        catalogue = ConversationCatalogue(
            pool: pools.pool, readers: pools.readers, attachmentsLimit: configuration.store.attachmentsLimit,
            quota: process.quota, signals: process.signals)
        feeds = ConversationFeeds(
            FeedReader(pool: pools.readers), signals: process.signals, slots: process.feedSlots, memory: process.memory,
            limits: FeedWriter.Limits(
                unsent: configuration.streams.unsentLimit, keepAlive: configuration.streams.keepAlive),
            storeRetryTimeout: configuration.relay.storeRetryTimeout, on: pools.shard)
        weather = WeatherSource(configuration.server.weather, on: pools.shard)
        revocable = RevocableResponses(process.access, on: pools.shard)
        authenticator = Authenticator(
            configuration, registry: process.access, issuers: process.issuers)
    }
}
