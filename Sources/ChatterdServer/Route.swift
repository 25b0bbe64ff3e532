import HTTP
import HTTPServer
import Sockets

/// The paths that the server answers.
enum Route: String, CaseIterable {
    case identity = "/"
    case llmchat = "/llmchat"
    case llmprep = "/llmprep"
    case llmprompt = "/llmprompt"
    case postchatt = "/postchatt"
    case getchatts = "/getchatts"
    case healthz = "/healthz"
    case readyz = "/readyz"
    /// What no path of ours was asked for.
    case none = "-"
}

extension Router {
    /// The table of routes.
    init(_ services: [ShardServices], state: ServerState, configuration: Configuration) {
        self.init()
        let chat = ChatRoute(services: services, configuration: configuration)
        let board = BoardRoute(services: services)
        let status = StatusRoute(services: services, state: state)
        let prompt = PromptRoute(services: services, unsentLimit: configuration.server.unsentLimit)
        on(.post, Route.llmchat.rawValue, chat.answer)
        on(.post, Route.llmprep.rawValue, chat.prepare)
        on(.post, Route.llmprompt.rawValue, prompt.answer)
        on(.post, Route.postchatt.rawValue, board.post)
        on(.get, Route.getchatts.rawValue, board.list)
        on(.get, Route.identity.rawValue, status.identity)
        on(.get, Route.healthz.rawValue, status.health)
        on(.get, Route.readyz.rawValue, status.readiness)
    }
}

extension [ShardServices] {
    /// The services of the shard that a request lives on.
    subscript(_ request: Request) -> ShardServices { self[request.shard.index] }
}
