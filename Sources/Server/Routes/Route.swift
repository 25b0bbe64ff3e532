import ChatterdBasics
import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdSockets

/// The paths that the server answers.
public enum Route: String, CaseIterable, Sendable {
    case identity = "/"
    case llmchat = "/llmchat"
    case llmprep = "/llmprep"
    case llmprompt = "/llmprompt"
    case reply = "/replies/:id"
    case regenerate = "/replies/:id/regenerate"
    case choose = "/replies/:id/choose"
    case conversation = "/conversations/:appID"
    case postchatt = "/postchatt"
    case getchatts = "/getchatts"
    case models = "/models"
    case upstreams = "/upstreams"
    case upstream = "/upstreams/:name"
    case testUpstream = "/upstreams/:name/test"
    case healthz = "/healthz"
    case readyz = "/readyz"
    /// What no path of ours was asked for.
    case none = "-"

    /// The patterns of routes that every host and origin may use.
    static let openRoutes: Set<String> = [healthz.rawValue, readyz.rawValue]
}

extension Router {
    /// The table of routes.
    init(
        _ services: [ShardServices], registry: UpstreamRegistry, state: ServerState, memory: MemoryBudget,
        configuration: Configuration
    ) {
        self.init()
        let sender = ReplySender(configuration, memory: memory)
        let chat = ChatRoute(
            services: services, sender: sender, memory: memory,
            defaultModel: configuration.upstreams.defaultModel)
        let reply = ReplyRoute(services: services, sender: sender, memory: memory)
        let conversation = ConversationRoute(services: services)
        let board = BoardRoute(services: services)
        let status = StatusRoute(
            services: services, state: state, patience: configuration.fixedTimeouts.readiness)
        let prompt = PromptRoute(services: services, unsentLimit: configuration.streams.unsentLimit)
        on(.post, Route.llmchat.rawValue, chat.answer)
        on(.post, Route.llmprep.rawValue, chat.prepare)
        on(.post, Route.llmprompt.rawValue, prompt.answer)
        on(.get, Route.reply.rawValue, reply.read)
        on(.delete, Route.reply.rawValue, reply.stop)
        on(.post, Route.regenerate.rawValue, reply.regenerate)
        on(.post, Route.choose.rawValue, reply.choose)
        on(.delete, Route.conversation.rawValue, conversation.delete)
        on(.post, Route.postchatt.rawValue, board.post)
        on(.get, Route.getchatts.rawValue, board.list)
        on(.get, Route.models.rawValue, ModelsRoute(services: services, registry: registry).list)
        if let token = configuration.upstreams.adminToken {
            let admin = AdminToken(token).check
            let upstream = UpstreamRoute(
                services: services, registry: registry, configuration: configuration.upstreams)
            on(.get, Route.upstreams.rawValue, check: admin, upstream.list)
            on(.post, Route.upstreams.rawValue, check: admin, upstream.add)
            on(.get, Route.upstream.rawValue, check: admin, upstream.show)
            on(.put, Route.upstream.rawValue, check: admin, upstream.replace)
            on(.delete, Route.upstream.rawValue, check: admin, upstream.remove)
            on(.post, Route.testUpstream.rawValue, check: admin, upstream.test)
        }
        on(.get, Route.identity.rawValue, status.identity)
        on(.get, Route.healthz.rawValue, status.health)
        on(.get, Route.readyz.rawValue, status.readiness)
    }
}

extension [ShardServices] {
    /// The services of the shard that a request lives on.
    subscript(_ request: Request) -> ShardServices { self[request.shard.index] }
}
