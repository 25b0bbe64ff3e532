import ChatterdBasics
import ChatterdConfiguration
import ChatterdDialects
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdPostgresStore
import ChatterdRelay

extension Router {
    /// The table of routes, with the scope that each of them needs.
    init(
        _ services: ShardedServices, process: ProcessServices, registry: UpstreamRegistry, _ access: AccessControl,
        state: ServerState
    ) {
        self.init()
        addReplies(services, process, access)
        addConversations(services, process, access)
        addCourse(services, access)
        addUpstreams(services, registry, process.configuration.upstreams, access)
        addCredentials(
            process.access, process.usage, services,
            administrator: process.configuration.upstreams.adminToken.map { AdminToken($0).digestText }, access)
        let status = StatusRoute(
            services: services, state: state, timeout: process.configuration.fixedTimeouts.readiness)
        addStatus(status)
        addPage(PageRoute(app: process.configuration.server.pageApp, identity: status.identity))
    }

    private mutating func addReplies(
        _ services: ShardedServices, _ process: ProcessServices, _ access: AccessControl
    ) {
        let sender = AnswerSender(process.configuration, memory: process.memory)
        let chat = ChatRoute(
            services: services, sender: sender, memory: process.memory,
            defaultModel: process.configuration.upstreams.defaultModel)
        on(.post, .llmchat, for: .chat, access, chat.answer)
        on(.post, .llmtools, for: .chat, access, chat.answerWithTools)
        on(.post, .llmprep, for: .chat, access, chat.prepare)
        let prompt = PassThroughRoute(
            services: services, usage: process.usage, memory: process.memory,
            unsentLimit: process.configuration.streams.unsentLimit)
        on(.post, .llmprompt, for: .chat, access, prompt.answer)
        let responses = ResponseRoutes(services: services, sender: sender, memory: process.memory)
        let limit = process.configuration.store.historyLimit
        let doors = DoorRoutes(
            services: services, sender: sender, passing: prompt, memory: process.memory,
            conversations: DoorMemory(limit: limit, chatNames: process.configuration.access.chatNames),
            responses: responses,
            doorConversations: DoorConversationRoutes(
                services: services, audit: process.access.store, memory: process.memory, limit: limit,
                policy: process.configuration.access.doorPolicy),
            ollamaModels: OllamaModelRoutes(
                services: services, audit: process.access.store,
                unsentLimit: process.configuration.streams.unsentLimit),
            defaultModel: process.configuration.upstreams.defaultModel,
            policy: process.configuration.access.doorPolicy)
        let agents = process.configuration.access
        addDoors(doors, namesApps: agents.mode == .open && agents.namesAppsByUserAgent, access)
        let reply = ReplyRoute(services: services, sender: sender, memory: process.memory)
        on(.get, .reply, for: .read, access, reply.read)
        on(.delete, .reply, for: .chat, access, reply.stop)
        on(.post, .regenerate, for: .chat, access, reply.regenerate)
        on(.post, .choose, for: .chat, access, reply.choose)
        on(.post, .approvals, for: .chat, access, reply.approve)
    }

    /// Adds the paths of other systems' APIs.
    ///
    /// - Parameter namesApps: whether `User-Agent` names the app of a request that names none.
    private mutating func addDoors(_ doors: DoorRoutes, namesApps: Bool, _ access: AccessControl) {
        for endpoint in Door.allCases.flatMap(\.dialect.endpoints) {
            addBase(String(decoding: endpoint.path.utf8.dropFirst().prefix { $0 != UInt8(ascii: "/") }, as: UTF8.self))
            let scope = doors.scope(of: endpoint.operation)
            on(
                endpoint.method, endpoint.path, check: { head in access.check(head, for: scope) },
                access.require(scope, permitsLinks: endpoint.namesWhatItReads) {
                    (request, responder, principal) throws(RelayError) in
                    let request = namesApps ? UserAgentApp.naming(request, principal) : request
                    try await doors.answer(request, responder, principal, at: endpoint)
                })
        }
    }

    private mutating func addConversations(
        _ services: ShardedServices, _ process: ProcessServices, _ access: AccessControl
    ) {
        let catalogue = CatalogueRoute(services: services, audit: process.access.store, memory: process.memory) {
            ConversationKey.randomName()
        }
        on(.get, .conversations, for: .read, access, catalogue.list)
        on(.post, .conversations, for: .chat, access, catalogue.create)
        on(.delete, .conversations, for: .chat, access, catalogue.deleteAll)
        on(.patch, .conversation, for: .chat, access, catalogue.change)
        let conversation = ConversationRoute(services: services, audit: process.access.store)
        on(.delete, .conversation, for: .chat, access, conversation.delete)
        let archive = ArchiveRoute(
            services: services, usage: process.usage, memory: process.memory,
            unsentLimit: process.configuration.streams.unsentLimit)
        on(.get, .conversation, for: .read, access, archive.read)
        on(.post, .forkConversation, for: .chat, access, archive.fork)
        on(.get, .exportConversation, for: .read, access, archive.export)
        on(.post, .importConversation, for: .chat, access, archive.importFile)
        let title = TitleRoute(
            services: services, usage: process.usage,
            defaultModel: process.configuration.upstreams.defaultModel)
        on(.post, .conversationTitle, for: .chat, access, title.make)
        on(.get, .conversationEvents, for: .read, access, FeedRoute(services: services).follow)
    }

    private mutating func addCourse(_ services: ShardedServices, _ access: AccessControl) {
        let board = BoardRoute(services: services)
        on(.post, .postchatt, for: .chat, access, board.post)
        on(.get, .getchatts, for: .read, access, board.list)
        on(.get, .weather, for: .chat, access, WeatherRoute(services: services).tell)
    }

    /// Adds the list of models and the list of model servers.
    private mutating func addUpstreams(
        _ services: ShardedServices, _ registry: UpstreamRegistry, _ configuration: Configuration.Upstreams,
        _ access: AccessControl
    ) {
        on(.get, .models, for: .read, access, ModelsRoute(services: services, registry: registry).list)
        let upstream = UpstreamRoute(services: services, registry: registry, configuration: configuration)
        on(.get, .upstreams, for: .admin, access, upstream.list)
        on(.post, .upstreams, for: .admin, access, upstream.add)
        on(.get, .upstream, for: .admin, access, upstream.show)
        on(.put, .upstream, for: .admin, access, upstream.replace)
        on(.delete, .upstream, for: .admin, access, upstream.remove)
        on(.post, .testUpstream, for: .admin, access, upstream.test)
    }

    private mutating func addCredentials(
        _ registry: AccessRegistry, _ usage: UsageStore, _ services: ShardedServices, administrator: String?,
        _ access: AccessControl
    ) {
        let keys = KeyRoute(registry: registry)
        on(.get, .keys, for: .admin, access, keys.list)
        on(.post, .keys, for: .admin, access, keys.create)
        on(.delete, .key, for: .admin, access, keys.revoke)
        on(.post, .rotateKey, for: .admin, access, keys.rotate)
        let sessions = SessionRoute(registry: registry, administrator: administrator)
        on(.post, .session, for: nil, access, sessions.create)
        on(.get, .session, for: nil, access, sessions.show)
        // An ended session is no reason to keep the cookie.
        on(.delete, Route.session.rawValue, check: { head in access.check(head, for: nil) }, sessions.end)
        on(.post, .links, for: .read, access, LinkRoute(services: services, registry: registry).create)
        let tokens = TokenRoute(registry: registry)
        on(.post, .tokens, for: .tokens, access, tokens.create)
        on(.delete, .person, for: .tokens, access, tokens.revoke)
        on(.get, .audit, for: .admin, access, AuditRoute(registry: registry).list)
        // A key without the scope read may know its own use, and so may an administrator.
        on(
            .get, Route.usage.rawValue, check: { head in access.check(head, for: .read) },
            access.require(nil, UsageRoute(store: usage).report))
    }

    private mutating func addStatus(_ status: StatusRoute) {
        on(.get, Route.healthz.rawValue, status.health)
        on(.get, Route.readyz.rawValue, status.readiness)
        on(.get, Route.openAPI.rawValue, OpenAPIRoute().read)
    }

    private mutating func addPage(_ page: PageRoute) {
        on(.get, Route.identity.rawValue, page.open)
        on(.get, Route.pageFile.rawValue, page.file(in: ""))
        on(.get, Route.pageView.rawValue, page.file(in: "views/"))
        on(.get, Route.pageMarkdown.rawValue, page.file(in: "markdown/"))
    }

    /// Routes a method of a path to a handler that serves only principals with a scope; `nil` for any principal.
    private mutating func on(
        _ method: Method, _ route: Route, for scope: Scope?, _ access: AccessControl,
        _ handler: @escaping AuthorizedHandler
    ) {
        on(
            method, route.rawValue, check: { head in access.check(head, for: scope) },
            access.require(scope, permitsLinks: Route.linkRoutes.contains(route), handler))
    }
}
