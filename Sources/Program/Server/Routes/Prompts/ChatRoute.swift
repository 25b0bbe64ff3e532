import ChatterdBasics
import ChatterdChat
import ChatterdDialects
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdRelay
import ChatterdSockets
import ChatterdTools

/// `POST /llmchat`, `POST /llmtools` and `POST /llmprep`: docs/api.md.
struct ChatRoute: Sendable {
    /// The maximum number of copies of a body while its prompt is stored, itself included.
    static let copies = 5

    let services: ShardedServices
    let sender: AnswerSender
    let memory: MemoryBudget
    /// The model of a prompt that names no model; `nil` if a prompt must name one.
    let defaultModel: String?

    /// Stores the prompt, asks the model with the whole conversation, and streams or sends the answer.
    @Sendable func answer(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        try await answer(request, responder, principal, with: .location)
    }

    /// As `answer`; the conversation keeps the tools of the request, and the client gets calls of tools as events of their own.
    @Sendable func answerWithTools(
        _ request: Request, _ responder: Responder, _ principal: Principal
    ) async throws(RelayError) {
        try await answer(request, responder, principal, with: .locationAndToolCalls)
    }

    private func answer(
        _ request: Request, _ responder: Responder, _ principal: Principal, with events: ChatterdAnswers.CourseEvents
    ) async throws(RelayError) {
        // The prompt is committed when `accept` returns.
        let (prompt, form) = try await accept(request, responder, principal, with: events)
        // A response may take long. The body is released before it.
        request.body.release()
        let watch = services[request].watch(principal)
        switch prompt {
        case .started(let reply):
            await sender.start(reply, as: form, to: responder, until: watch)
        case .known(let reply):
            await sender.send(reply, as: form, by: services[request].chat, to: responder, until: watch)
        }
    }

    private func accept(
        _ request: Request, _ responder: Responder, _ principal: Principal, with events: ChatterdAnswers.CourseEvents
    ) async throws(RelayError) -> (AcceptedPrompt, AnswerForm) {
        let keepsTools = events == .locationAndToolCalls
        // A prompt that cannot be read has a span too.
        let trace = services[request].trace(of: request, responder)
        var (chat, conversation) = try await decode(
            request, responder, principal, requiringModel: defaultModel == nil, keepingTools: keepsTools)
        chat.trace = trace
        if let defaultModel, chat.model.isEmpty {
            chat.model = defaultModel
        }
        try principal.check(model: chat.model)
        chat.onDisconnect = try request.disconnectPolicy(unless: chat.onDisconnect)
        var form = AnswerForm(
            isStreamed: chat.stream, showsQueue: try request.queueEvents(unless: chat.queueEvents), course: events)
        form.showsSteps = try request.stepEvents(unless: chat.stepEvents)
        let key = try request.idempotencyKey()
        // The reservation stays until the prompt is stored.
        request.body.releaseBytes()
        if keepsTools {
            chat = try await services[request].chat.addKeptTools(to: chat, in: conversation)
            chat.offer(services[request].tools.offers(to: conversation.owner.app))
        }
        return (try await services[request].chat.accept(chat, in: conversation, key: key, meter: principal.meter), form)
    }

    /// Replaces the conversation by the messages of the request.
    @Sendable func prepare(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError)
    {
        let (chat, conversation) = try await decode(request, responder, principal, requiringModel: false)
        request.body.releaseBytes()
        try await services[request].chat.replaceConversation(conversation, with: chat.messages)
        responder.respondEmptyObject()
    }

    @inline(never)
    private func decode(
        _ request: Request, _ responder: Responder, _ principal: Principal, requiringModel: Bool,
        keepingTools: Bool = false
    ) async throws(RelayError) -> (ChatRequest, ConversationKey) {
        try request.requireJSON(
            like: requiringModel
                ? #"{"appID":"me","model":"llama3.2","messages":[{"role":"user","content":"Hello"}]}"#
                : #"{"appID":"me","messages":[{"role":"user","content":"Hello"}]}"#)
        // The copies are the decoded messages, the parameters of a statement, libpq's output, and the history that the store
        // returns.
        guard request.body.expect(copies: Self.copies) else { throw RelayError(overloading: memory) }
        let chat: ChatRequest
        do throws(ChatRequestError) {
            let body = request.body.bytes
            chat = try await LongWork.run(on: body.count) { () throws(ChatRequestError) in
                try ChatRequest(decoding: body.span, requiringModel: requiringModel, keepingTools: keepingTools)
            }
        } catch {
            throw RelayError(.invalidRequest, error.message)
        }
        let conversation = try principal.conversation(of: chat)
        responder.annotate(Annotation.appID, conversation.owner.app)
        return (chat, conversation)
    }
}
