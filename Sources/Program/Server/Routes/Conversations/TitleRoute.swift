import ChatterdBasics
import ChatterdChat
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdPostgresStore
import ChatterdRelay

/// `POST /conversations/:c/title`: docs/api.md.
struct TitleRoute: Sendable {
    /// The number of model servers that one request asks.
    private static let servers = 3

    let services: ShardedServices
    let usage: UsageStore
    /// The model for a conversation without replies, if the request names none.
    let defaultModel: String?

    /// Returns the conversation with its title. A conversation without a title gets one that a model makes.
    @Sendable func make(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        services[request].trace(of: request, responder)
        let key = try principal.conversation(ofPath: request)
        responder.annotate(Annotation.appID, key.owner.app)
        if request.body.count > 0 {
            try request.requireJSON(like: #"{"model":"llama3.2"}"#)
        }
        let named = try RequestObject(try request.smallBody, members: ["model"])
            .name("model", upTo: ModelName.maximumLength)
        if let named { try principal.check(model: named) }
        let catalogue = services[request].catalogue
        var entry = try await catalogue.entry(of: key)
        if entry.title == nil {
            let beginning = try await catalogue.beginning(of: key)
            guard !beginning.text.isEmpty else {
                throw RelayError(.invalidRequest, "The conversation has no messages that a title could describe.")
            }
            guard let model = named ?? beginning.model ?? defaultModel else {
                throw RelayError(.invalidRequest, #"Name the model, as in {"model":"llama3.2"}."#)
            }
            try principal.check(model: model)
            guard let title = try await title(of: beginning.text, by: model, request, responder, principal)
            else { return }
            entry = try await catalogue.setTitle(title, of: key)
        }
        responder.respond(json: ConversationDocument.json(entry))
    }

    /// Asks a model for a title, as a request that counts against the limits of the principal. `nil` if the client has left.
    private func title(
        of beginning: String, by model: String, _ request: Request, _ responder: Responder, _ principal: Principal
    ) async throws(RelayError) -> String? {
        let services = services[request]
        try services.chat.requireNoReview(of: principal.owner)
        let directory = services.upstreams.directory
        await directory.prepare(for: model)
        if let refusal = directory.refusalOfRequest(for: model) { throw RelayError(refusal) }
        let targets = directory.targets(for: model)
        let passed = try services.chat.admitPassedRequest(of: principal.owner)
        defer { passed.end() }
        let charge = try await PassedCharge(
            principal.meter, for: passed.id, bytes: beginning.utf8.count, answer: TitleAnswer.tokens, in: usage)
        let title: String?
        do throws(RelayError) {
            title = try await ask(targets, for: beginning, as: passed, request, responder)
        } catch {
            await charge.settle(estimating: nil)
            throw error
        }
        await charge.settle(estimating: title)
        return title
    }

    /// Asks the servers of a model one after the other. `nil` if the client has left.
    private func ask(
        _ targets: [ModelTarget], for beginning: String, as passed: PassedRequest, _ request: Request,
        _ responder: Responder
    ) async throws(RelayError) -> String? {
        var failure = ModelError(.unavailable, "No model server has answered.")
        for target in targets.prefix(Self.servers) {
            guard responder.isWaiting else { return nil }
            let answer = TitleAnswer(on: request.shard)
            responder.onClientGone = {
                passed.end()
                answer.cancel(ModelError(.unavailable, "The client left."))
            }
            try await passed.acquireSlot(of: target.upstream.description)
            do throws(ModelError) {
                return try await answer.title(
                    of: beginning, by: target, trace: services[request].trace(of: request, responder))
            } catch {
                failure = error
            }
            // A slot belongs to one server.
            guard target.upstream.description.slots == nil else { break }
        }
        guard responder.isWaiting else { return nil }
        throw RelayError(failure)
    }
}
