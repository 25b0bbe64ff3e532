import ChatterdBasics
import ChatterdChat
import ChatterdDialects
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdModelServers
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets

/// `POST /llmprompt`: passes the request to the `/api/generate` of a model server with the model, and returns its answer. Also other requests
/// that are passed on outside of conversations.
struct PassThroughRoute: Sendable {
    let services: ShardedServices
    let usage: UsageStore
    let memory: MemoryBudget
    /// Unsent bytes of a response at which the relay pauses the model server.
    let unsentLimit: Int

    /// A request to a model server.
    private struct Passing {
        let path: String
        let body: [UInt8]
        let server: UpstreamModel
        var form: PassedAnswerForm?
    }

    /// Passes a request on, when the model server has a slot for it.
    @Sendable func answer(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        try await pass(request, responder, principal, to: "/api/generate", named: "/llmprompt")
    }

    /// Passes a request on to a path of a server of the kind `ollama`, when that has a slot for it.
    ///
    /// - Parameter name: the path that the client asked for; `nil` for the same.
    func pass(
        _ request: Request, _ responder: Responder, _ principal: Principal, to path: String, named name: String? = nil
    ) async throws(RelayError) {
        services[request].trace(of: request, responder)
        try request.requireJSON(like: #"{"model":"tinyllama","prompt":"Hello"}"#)
        let prompt = try await PassThroughRequest.reading(request.body.bytes)
        try principal.check(model: prompt.model)
        if path == "/api/generate" { try services[request].chat.requireNoReview(of: principal.owner) }
        let (target, server) = try await services[request].upstreams.server(
            for: prompt.model, of: [.ollama], otherwise: Self.notOllama(name ?? path))
        try await pass(
            prompt, to: target, request, responder, principal,
            Passing(path: path, body: prompt.body(asking: target.model), server: server))
    }

    private static func notOllama(_ path: String) -> RelayError {
        let advice = path == "/llmprompt" ? " Use /llmchat." : ""
        return RelayError(
            .model(.modelNotFound), "\(path) needs a model server of the kind ollama, and this model has none.\(advice)"
        )
    }

    /// Passes a request on to a server of the model in the form of its kind, when that has a slot for it.
    func pass(
        _ request: Request, _ responder: Responder, _ principal: Principal, as translator: any PassTranslator,
        at path: String
    ) async throws(RelayError) {
        services[request].trace(of: request, responder)
        let bytes = request.body.bytes
        let prompt = try await PassThroughRequest.reading(bytes)
        try principal.check(model: prompt.model)
        if translator.hasAnswerTokens { try services[request].chat.requireNoReview(of: principal.owner) }
        let kinds = UpstreamDescription.Kind.allCases.filter { translator.path(at: $0) != nil }
        let (target, server) = try await services[request].upstreams.server(
            for: prompt.model, of: Set(kinds), otherwise: Self.wrongKind(kinds, path))
        let kind = target.upstream.description.kind
        let context = PassContext(
            id: ConversationKey.randomName(), model: prompt.model, seconds: Int(WallClock.seconds()))
        let (body, encoder) = try await LongWork.run(on: bytes.count) { () throws(RelayError) in
            let body =
                kind == .ollama
                ? try translator.ollamaBody(of: bytes, asking: target.model) : prompt.body(asking: target.model)
            return (body, try translator.makeEncoder(for: bytes, at: kind, context))
        }
        let form = PassedAnswerForm(
            encoder: encoder, countsLines: translator.hasAnswerTokens, held: memory.charge(0))
        try await pass(
            prompt, to: target, request, responder, principal,
            Passing(path: translator.path(at: kind) ?? "", body: body, server: server, form: form))
    }

    private static func wrongKind(_ kinds: [UpstreamDescription.Kind], _ path: String) -> RelayError {
        let names = kinds.map(\.rawValue).joined(separator: " or ")
        return RelayError(
            .model(.unsupported), "\(path) needs a model server of the kind \(names), and this model has none.")
    }

    /// Counts a request, waits for a slot, and passes the request on.
    private func pass(
        _ prompt: PassThroughRequest, to target: ModelTarget, _ request: Request, _ responder: Responder,
        _ principal: Principal, _ passing: Passing
    ) async throws(RelayError) {
        let passed = try services[request].chat.admitPassedRequest(of: principal.owner)
        defer { passed.end() }
        let charge = try await PassedCharge(
            principal.meter, for: passed.id, bytes: request.body.count, answer: prompt.answerLimit, in: usage)
        await charge.settle(await pass(passing, as: passed, charge, of: target, request, responder, principal))
    }

    /// Passes a request on that is charged. It refuses the request itself, because the caller settles the charge in any case.
    ///
    /// - Returns: the count of the answer; `nil` if no model server has answered.
    private func pass(
        _ passing: Passing, as passed: PassedRequest, _ charge: PassedCharge, of target: ModelTarget,
        _ request: Request, _ responder: Responder, _ principal: Principal
    ) async -> PassedAnswerCount? {
        do throws(RelayError) {
            // A client that left earlier causes no `onClientGone`.
            guard responder.isWaiting else { return nil }
            responder.onClientGone = { passed.end() }
            let name = target.upstream.description.name
            let start = request.shard.now
            try await passed.acquireSlot(of: target.upstream.description)
            if target.upstream.description.slots != nil {
                services[request].observe(.queued(upstream: name, request.shard.now - start))
            }
            let relay = PassThroughExchange(
                responder, passing.server, as: passing.form, quota: charge.quota, unsentLimit: unsentLimit,
                until: services[request].watch(principal))
            await relay.run(passing.body, to: passing.path, of: request)
            if let outcome = relay.outcome {
                services[request].observe(.requestEnded(upstream: name, outcome))
            }
            return relay.count
        } catch {
            responder.refuse(error)
            return nil
        }
    }
}
