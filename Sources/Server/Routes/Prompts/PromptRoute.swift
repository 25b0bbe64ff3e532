import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdModelServers
import ChatterdPostgresStore
import ChatterdRelay

/// `POST /llmprompt`: passes the request to the `/api/generate` of a model server with the model, and returns its answer.
struct PromptRoute: Sendable {
    let services: ShardedServices
    let usage: UsageStore
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
            let passed = try services.chat.admitPassedRequest(of: principal.owner)
            defer { passed.end() }
            let charge = try await PassedCharge(
                principal.meter, for: passed.id, bytes: request.body.count, answer: prompt.answerLimit, in: usage)
            let count = await pass(prompt, as: passed, charge, to: target, model, request, responder, principal)
            await charge.settle(count)
        } catch {
            responder.refuse(error)
        }
    }

    /// Passes a request on that is charged.
    ///
    /// - Returns: the count of the answer; `nil` if no model server has answered.
    private func pass(
        _ prompt: PassedPrompt, as passed: PassedRequest, _ charge: PassedCharge, to target: ModelTarget,
        _ model: UpstreamModel, _ request: Request, _ responder: Responder, _ principal: Principal
    ) async -> PassedAnswerCount? {
        do throws(RelayError) {
            // A client that left earlier causes no `onClientGone`.
            guard responder.isWaiting else { return nil }
            responder.onClientGone = { passed.end() }
            try await passed.acquireSlot(of: target.upstream.description)
            let relay = PromptRelay(
                responder, model, quota: charge.quota, unsentLimit: unsentLimit,
                until: services[request].watch(principal))
            await relay.run(prompt.body(asking: target.model), of: request)
            return relay.count
        } catch {
            responder.refuse(error)
            return nil
        }
    }
}
