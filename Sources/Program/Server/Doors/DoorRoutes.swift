import ChatterdBasics
import ChatterdChat
import ChatterdConfiguration
import ChatterdDialects
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets

/// The handlers of the paths of doors: docs/doors.md.
struct DoorRoutes: Sendable {
    let services: ShardedServices
    let sender: AnswerSender
    let passing: PassThroughRoute
    let memory: MemoryBudget
    let conversations: DoorMemory
    let responses: ResponseRoutes
    let doorConversations: DoorConversationRoutes
    let ollamaModels: OllamaModelRoutes
    /// The model of a request that names no model; `nil` if a request must name one.
    let defaultModel: String?
    /// What happens to what neither chatterd nor a model server can do.
    let policy: DoorPolicy

    /// The scope that an operation needs.
    func scope(of operation: DoorEndpoint.Operation) -> Scope {
        switch operation {
        case .ask, .pass, .translate, .refuse: .chat
        case .models, .model, .show, .count, .version: .read
        case .change: .admin
        case .response(let operation, _): responses.scope(of: operation)
        case .conversation(let operation): doorConversations.scope(of: operation)
        }
    }

    /// Answers a request to an endpoint.
    func answer(
        _ request: Request, _ responder: Responder, _ principal: Principal, at endpoint: DoorEndpoint
    ) async throws(RelayError) {
        guard case .ask(let translator) = endpoint.operation else {
            return try await answerOther(request, responder, principal, at: endpoint)
        }
        try await ask(request, responder, principal, translator, endpoint)
    }

    /// Answers a request that asks no model, in a function of its own: the frame for all its calls is large.
    @inline(never)
    private func answerOther(
        _ request: Request, _ responder: Responder, _ principal: Principal, at endpoint: DoorEndpoint
    ) async throws(RelayError) {
        switch endpoint.operation {
        case .ask(let translator): try await ask(request, responder, principal, translator, endpoint)
        case .count(let translator): try await count(request, responder, translator)
        case .models(let lister): await list(request, responder, principal, lister)
        case .model(let lister): await describe(request.parameter ?? "", request, responder, principal, lister)
        case .show(let lister): try await show(request, responder, principal, lister, endpoint)
        case .response(let operation, let translator):
            try await responses.answer(request, responder, principal, operation, translator)
        case .conversation(let operation):
            try await doorConversations.answer(request, responder, principal, operation)
        case .pass: try await passing.pass(request, responder, principal, to: endpoint.path)
        case .translate(let translator):
            try await passing.pass(request, responder, principal, as: translator, at: endpoint.path)
        case .change(let change): await ollamaModels.change(change, at: endpoint, request, responder, principal)
        case .refuse(let error): throw error
        case .version(let version):
            var body = ByteBuffer()
            body.appendJSON { json in json.object { $0.member("version", version) } }
            responder.respond(json: body)
        }
    }

    // MARK: - Answers

    /// Asks the model, and answers in the form of the door. A request that a door only passes on is passed on.
    private func ask(
        _ request: Request, _ responder: Responder, _ principal: Principal, _ translator: any ChatTranslator,
        _ endpoint: DoorEndpoint
    ) async throws(RelayError) {
        let trace = services[request].trace(of: request, responder)
        guard request.body.expect(copies: ChatRoute.copies) else { throw RelayError(overloading: memory) }
        let exchange = DoorExchange(
            try await translate(request, translator), request, responder, principal, translator, at: endpoint.path,
            services[request])
        if let paths = exchange.asked.ignored.text { responder.annotate(Annotation.ignored, paths) }
        exchange.asked.chat.trace = trace
        exchange.asked.chat.model = try model(of: exchange.asked.chat)
        guard !exchange.asked.isPassed else { return try await pass(exchange) }
        do throws(RelayError) {
            try await answer(exchange)
        } catch {
            throw responder.worded(error, model: exchange.asked.chat.model)
        }
    }

    /// Passes a request on.
    @inline(never)
    private func pass(_ exchange: DoorExchange) async throws(RelayError) {
        let (request, model) = (exchange.request, exchange.asked.chat.model)
        if let answer = exchange.asked.loadAnswer, await isWithoutOllama(model, request) {
            respondLoaded(model, answer, to: exchange.responder)
            return
        }
        try await passing.pass(request, exchange.responder, exchange.principal, to: exchange.path)
    }

    /// Starts the reply to a request that names its model, or finds the one that was started before, and answers with it.
    private func answer(_ exchange: DoorExchange) async throws(RelayError) {
        try exchange.readFields()
        let prompt = try await prompt(of: exchange)
        // A stream may take hours.
        exchange.asked.chat.messages = []
        exchange.request.body.release()
        let (service, responder) = (exchange.services, exchange.responder)
        var form = exchange.form
        if case .known(let reply) = prompt, !exchange.asked.toolServers.isEmpty {
            // The servers may have had other tools then.
            form.servers = ResponseServers(of: try await service.archive.members(of: reply))
        }
        let watch = service.watch(exchange.principal)
        switch prompt {
        case .started(let reply): await sender.start(reply, as: form, to: responder, until: watch)
        case .known(let reply) where form.isBackground && !form.isStreamed:
            try await responses.describe(
                reply, for: exchange.principal, to: responder, by: service,
                fields: AnswerSender.fields(of: reply.id, form))
        case .known(let reply): await sender.send(reply, as: form, by: service.chat, to: responder, until: watch)
        }
    }

    /// Finds the place of a request, and commits its prompt there; or finds the reply that was started before.
    @inline(never)
    private func prompt(of exchange: DoorExchange) async throws(RelayError) -> AcceptedPrompt {
        let repeated = try await conversations.repeated(exchange)
        exchange.request.body.releaseBytes()
        if let repeated {
            exchange.place.conversation = repeated.turn.conversation
            exchange.keep()
            return .known(repeated)
        }
        try await conversations.findPlace(of: exchange)
        exchange.keep()
        // What a response repeats of its request is kept with a prompt of its own.
        guard exchange.kept == nil, let reply = try await conversations.reply(repeatedBy: exchange) else {
            return try await accept(exchange)
        }
        let chat = exchange.asked.chat
        return .started(
            try await exchange.services.chat.regenerate(
                reply, model: chat.model, onDisconnect: chat.onDisconnect, onInterrupt: chat.onInterrupt ?? .close,
                meter: exchange.principal.meter, trace: chat.trace))
    }

    /// Commits the prompt of a request. If the reply that it was found to follow is gone, it begins a conversation.
    private func accept(_ exchange: DoorExchange) async throws(RelayError) -> AcceptedPrompt {
        let beginning = exchange.place.beginning.take()
        do throws(RelayError) {
            return try await exchange.accept()
        } catch {
            guard error.code == .replyNotFound, let beginning else { throw error }
            exchange.place.conversation = beginning.conversation
            exchange.asked.chat.messages = beginning.messages
            exchange.asked.chat.parent = beginning.parent
            return try await exchange.accept()
        }
    }

    /// Whether the servers of a model are of other kinds than `ollama`. They load it by themselves.
    private func isWithoutOllama(_ model: String, _ request: Request) async -> Bool {
        await services[request].upstreams.directory.prepare(for: model)
        let targets = services[request].upstreams.directory.targets(for: model)
        return !targets.isEmpty && !targets.contains { $0.upstream.description.kind == .ollama }
    }

    /// Answers as an Ollama that has loaded a model; `answer` is the member with the empty text.
    private func respondLoaded(_ model: String, _ answer: String, to responder: Responder) {
        var body = ByteBuffer()
        body.append("{\"model\":")
        body.append(jsonString: model)
        body.append(",\"created_at\":\"")
        body.append(rfc3339: WallClock.nanoseconds())
        body.append("\",")
        body.append(utf8: answer)
        body.append(",\"done\":true,\"done_reason\":\"load\"}")
        responder.respond(json: body)
    }

    private func translate(
        _ request: Request, _ translator: any ChatTranslator
    ) async throws(RelayError) -> DoorRequest {
        let body = request.body.bytes
        return try await LongWork.run(on: body.count) { [policy] () throws(RelayError) in
            try translator.request(body, policy)
        }
    }

    /// Answers with an estimate of the tokens of a request.
    private func count(
        _ request: Request, _ responder: Responder, _ translator: any ChatTranslator
    ) async throws(RelayError) {
        let asked = try await translate(request, translator)
        var body = ByteBuffer()
        body.appendJSON { json in json.object { $0.member("input_tokens", asked.estimatedTokens) } }
        responder.respond(json: body, fields: responder.tell(asked.ignored))
    }

    private func model(of chat: ChatRequest) throws(RelayError) -> String {
        if !chat.model.isEmpty { return chat.model }
        guard let defaultModel else { throw RelayError(.invalidRequest, "model is required") }
        return defaultModel
    }

    // MARK: - Models

    private func list(
        _ request: Request, _ responder: Responder, _ principal: Principal, _ lister: any ModelLister
    ) async {
        let models = await models(for: request, principal)
        var body = ByteBuffer()
        responder.lister(unless: lister).append(models, to: &body)
        responder.respond(json: body)
    }

    private func show(
        _ request: Request, _ responder: Responder, _ principal: Principal, _ lister: any ModelLister,
        _ endpoint: DoorEndpoint
    ) async throws(RelayError) {
        // Old clients name the model `name`.
        let passed = try await PassThroughRequest.reading(request.body.bytes, naming: ["model", "name"])
        guard await find(passed.model, request, principal) != nil,
            await ollamaModels.describe(passed, at: endpoint, request, responder, principal)
        else {
            await describe(passed.model, request, responder, principal, lister)
            return
        }
    }

    private func describe(
        _ name: String, _ request: Request, _ responder: Responder, _ principal: Principal, _ lister: any ModelLister
    ) async {
        guard let model = await find(name, request, principal) else {
            let directory = services[request].upstreams.directory
            responder.refuse(responder.worded(RelayError(directory.refusal(of: name)), model: name))
            return
        }
        var body = ByteBuffer()
        responder.lister(unless: lister).append(model, to: &body)
        responder.respond(json: body)
    }

    /// The model with a name that the principal may ask for. Ollama adds the tag `latest` to a name without one; a name may begin with that
    /// of its server.
    private func find(_ name: String, _ request: Request, _ principal: Principal) async -> DoorModel? {
        let models = await models(for: request, principal)
        let names = [ExactText(name), ExactText(name + ":latest")]
        if let model = models.first(where: { names.contains(ExactText($0.name)) }) { return model }
        let upstreams = services[request].upstreams
        guard ModelName.isValid(name), upstreams.directory.isQualified(name), principal.permits(model: name) else {
            return nil
        }
        let listings = await upstreams.modelLists.listings(of: upstreams.directory)
        return ModelsRoute.model(name, listings, in: upstreams.directory).map(DoorModel.init)
    }

    /// The models that can be asked for now, and that the principal may ask for.
    private func models(for request: Request, _ principal: Principal) async -> [DoorModel] {
        let upstreams = services[request].upstreams
        let listings = await upstreams.modelLists.listings(of: upstreams.directory)
        return ModelsRoute.models(listings, in: upstreams.directory)
            .filter { principal.permits(model: $0.name) }
            .map(DoorModel.init)
    }
}

extension DoorModel {
    fileprivate init(_ model: ModelsRoute.Model) {
        self.init(name: model.name, context: model.context, installed: model.installed)
    }
}
