import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdRelay

/// `GET /conversations/:c/events`: docs/api.md.
struct FeedRoute: Sendable {
    let services: ShardedServices

    /// Streams the changes of a conversation, from now on or from the position of the client.
    @Sendable func follow(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        let key = try principal.conversation(ofPath: request)
        responder.annotate(Annotation.appID, key.owner.app)
        let services = services[request]
        try await services.feeds.serve(
            key, after: try request.lastPosition(FeedPosition.init(parsing:)), to: responder,
            isHead: request.method == .head,
            until: services.watch(principal))
    }
}
