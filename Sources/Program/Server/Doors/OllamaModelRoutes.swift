import ChatterdBasics
import ChatterdChat
import ChatterdDialects
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdModelServers
import ChatterdPostgresStore
import ChatterdRelay

/// Passes requests about models on to a server of the kind `ollama`, beside its slots: changes for administrators, and descriptions.
struct OllamaModelRoutes: Sendable {
    /// The longest silence of a model server while it changes a model.
    static let longestSilence = Duration.seconds(600)
    /// The longest time of a change, and of its wait for an answer without progress.
    static let longestChange = Duration.seconds(86_400)
    /// The limit of the progress lines of a change, in bytes.
    static let progressLimit = 1 << 30

    let services: ShardedServices
    let audit: AppKeyStore
    /// Unsent bytes of a response at which the relay pauses the model server.
    let unsentLimit: Int

    /// Changes the models of a server.
    func change(
        _ change: ModelChange, at endpoint: DoorEndpoint, _ request: Request, _ responder: Responder,
        _ principal: Principal
    ) async {
        var model = ""
        do throws(RelayError) {
            let passed = try await PassThroughRequest.reading(request.body.bytes, naming: change.modelMembers)
            model = passed.model
            let subject = try await Self.subject(change, passed, request.body.bytes)
            let (target, server) = try await services[request].upstreams.target(
                for: change, of: model, on: request.head.target.queryItem("upstream"))
            // The change may happen although its answer is lost, so it is recorded before.
            try await audit.record(
                AuditEntry(
                    change.action, of: "\(subject) on \(target.upstream.description.name)",
                    by: principal.credential.actor))
            let relay = PassThroughExchange(
                responder, server, limits: Self.limits(isStreamed: passed.stream ?? true), unsentLimit: unsentLimit,
                until: services[request].watch(principal))
            await relay.run(
                passed.body(asking: target.model), by: endpoint.method, to: endpoint.path, of: request)
            services.onEachShard { $0.upstreams.modelLists.invalidate() }
        } catch {
            responder.refuse(responder.worded(error, model: model))
        }
    }

    /// Passes a description of a model on.
    ///
    /// - Returns: `false` if no server of the kind `ollama` lists the model, and nothing was answered.
    func describe(
        _ passed: PassThroughRequest, at endpoint: DoorEndpoint, _ request: Request, _ responder: Responder,
        _ principal: Principal
    ) async -> Bool {
        guard let (target, server) = await services[request].upstreams.describer(of: passed.model) else { return false }
        let relay = PassThroughExchange(
            responder, server, unsentLimit: unsentLimit, until: services[request].watch(principal))
        await relay.run(passed.body(asking: target.model), to: endpoint.path, of: request)
        return true
    }

    /// The changed model in the audit log.
    private static func subject(
        _ change: ModelChange, _ passed: PassThroughRequest, _ body: [UInt8]
    ) async throws(RelayError) -> String {
        try passed.model.requireName(change.modelMembers[0], upTo: ModelName.maximumLength)
        guard change == .copy else { return passed.model }
        let copy = try await PassThroughRequest.reading(body, naming: ["destination"]).model
        try copy.requireName("destination", upTo: ModelName.maximumLength)
        return "\(passed.model) to \(copy)"
    }

    /// The limits of a change. Without progress lines the first byte is the end.
    private static func limits(isStreamed: Bool) -> GenerationLimits {
        var limits = GenerationLimits()
        limits.firstByte = isStreamed ? longestSilence : longestChange
        limits.silence = longestSilence
        limits.total = longestChange
        limits.answer = progressLimit
        return limits
    }
}

extension ModelChange {
    fileprivate var action: AuditEntry.Action {
        switch self {
        case .pull: .modelPulled
        case .push: .modelPushed
        case .create: .modelCreated
        case .copy: .modelCopied
        case .delete: .modelDeleted
        }
    }
}
