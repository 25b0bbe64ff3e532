import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPServer

extension Router {
    /// The table of routes.
    init(
        _ services: ShardedServices, process: ProcessServices, registry: UpstreamRegistry, state: ServerState
    ) {
        self.init()
        addReplies(services, process)
        addBoard(services)
        addUpstreams(services, registry, process.configuration.upstreams)
        addStatus(StatusRoute(services: services, state: state, timeout: process.configuration.fixedTimeouts.readiness))
    }

    private mutating func addReplies(_ services: ShardedServices, _ process: ProcessServices) {
        let sender = ReplySender(process.configuration, memory: process.memory)
        let chat = ChatRoute(
            services: services, sender: sender, memory: process.memory,
            defaultModel: process.configuration.upstreams.defaultModel)
        on(.post, Route.llmchat.rawValue, chat.answer)
        on(.post, Route.llmprep.rawValue, chat.prepare)
        let prompt = PromptRoute(services: services, unsentLimit: process.configuration.streams.unsentLimit)
        on(.post, Route.llmprompt.rawValue, prompt.answer)
        let reply = ReplyRoute(services: services, sender: sender, memory: process.memory)
        on(.get, Route.reply.rawValue, reply.read)
        on(.delete, Route.reply.rawValue, reply.stop)
        on(.post, Route.regenerate.rawValue, reply.regenerate)
        on(.post, Route.choose.rawValue, reply.choose)
        on(.delete, Route.conversation.rawValue, ConversationRoute(services: services).delete)
    }

    private mutating func addBoard(_ services: ShardedServices) {
        let board = BoardRoute(services: services)
        on(.post, Route.postchatt.rawValue, board.post)
        on(.get, Route.getchatts.rawValue, board.list)
    }

    /// Adds the list of models and, if there is an admin token, the list of model servers.
    private mutating func addUpstreams(
        _ services: ShardedServices, _ registry: UpstreamRegistry, _ configuration: Configuration.Upstreams
    ) {
        on(.get, Route.models.rawValue, ModelsRoute(services: services, registry: registry).list)
        guard let token = configuration.adminToken else { return }
        let admin = AdminToken(token).check
        let upstream = UpstreamRoute(services: services, registry: registry, configuration: configuration)
        on(.get, Route.upstreams.rawValue, check: admin, upstream.list)
        on(.post, Route.upstreams.rawValue, check: admin, upstream.add)
        on(.get, Route.upstream.rawValue, check: admin, upstream.show)
        on(.put, Route.upstream.rawValue, check: admin, upstream.replace)
        on(.delete, Route.upstream.rawValue, check: admin, upstream.remove)
        on(.post, Route.testUpstream.rawValue, check: admin, upstream.test)
    }

    private mutating func addStatus(_ status: StatusRoute) {
        on(.get, Route.identity.rawValue, status.identity)
        on(.get, Route.healthz.rawValue, status.health)
        on(.get, Route.readyz.rawValue, status.readiness)
    }
}
