import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdRelay

/// `POST /llmprompt`: passes the request to the `/api/generate` of a model server with the model, and returns its answer.
struct PromptRoute: Sendable {
    let services: ShardedServices
    /// Unsent bytes of a response at which the relay pauses the model server.
    let unsentLimit: Int

    /// Passes a request on, when the model server has a slot for it.
    @Sendable func answer(_ request: Request, _ responder: Responder, _ principal: Principal) async {
        do throws(RelayError) {
            let services = services[request]
            try request.requireJSON(like: #"{"model":"tinyllama","prompt":"Hello"}"#)
            let prompt = try PassedPrompt(request.body.bytes)
            try principal.check(model: prompt.model)
            let (target, model) = try services.upstreams.generator(for: prompt.model)
            let passed = try services.chat.admitPassedRequest()
            defer { passed.end() }
            // A client that left earlier causes no `onClientGone`.
            guard responder.isWaiting else { return }
            responder.onClientGone = { passed.end() }
            try await passed.acquireSlot(of: target.upstream.description)
            let relay = PromptRelay(responder, model, unsentLimit: unsentLimit, until: services.watch(principal))
            await relay.run(prompt.body(asking: target.model), of: request)
        } catch {
            responder.refuse(error)
        }
    }
}
