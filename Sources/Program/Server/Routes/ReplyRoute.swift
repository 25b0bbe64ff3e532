import ChatterdBasics
import ChatterdChat
import ChatterdDialects
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdRelay
import ChatterdSockets

/// `/replies/:id` and the paths below it: docs/api.md.
struct ReplyRoute: Sendable {
    let services: ShardedServices
    let sender: AnswerSender
    let memory: MemoryBudget

    /// Streams the reply from its start or from the position of the client, or describes it as JSON.
    @Sendable func read(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        let service = services[request].chat
        let position = try request.lastPosition(ReplyPosition.init(parsing:))
        let showsQueue = try request.queueEvents(unless: nil)
        let showsSteps = try request.stepEvents(unless: nil)
        let reply = try await find(request, responder, principal)
        guard !request.wantsJSON else {
            let reservation = memory.charge(0)
            let page = try await service.readWhole(reply, in: reservation)
            let json = await LongWork.run(on: page.size + (page.steps?.size ?? 0)) { ReplyDocument(reply, page).json }
            responder.respond(json: json, fields: Self.momentary, memory: reservation)
            return
        }
        if let position, try await hasAll(reply, upTo: position, service) {
            // HTML Standard 9.2.3: only 204 keeps a browser from coming back.
            responder.respond(.noContent, fields: Self.momentary)
            return
        }
        guard request.method != .head else {
            responder.stream(.ok, fields: AnswerSender.fields(of: reply.id).forStream(.events)).finish()
            return
        }
        // A client that has left must not keep the reply running.
        guard responder.isWaiting else { return }
        var start = position ?? ReplyPosition(attempt: reply.attempt)
        start.isEnd = false
        var form = AnswerForm(isStreamed: true, showsQueue: showsQueue, retry: Self.reconnection)
        form.showsSteps = showsSteps
        await sender.send(
            reply, from: start, as: form, by: service, to: responder, until: services[request].watch(principal))
    }

    /// The reconnection time of a client that has come back, in milliseconds.
    private static let reconnection: UInt32 = 1000

    /// Stops the reply.
    @Sendable func stop(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        let reply = try await services[request].chat.stop(try await find(request, responder, principal))
        responder.respond(reply.state == nil ? .accepted : .ok, json: ReplyDocument(reply).json)
    }

    /// Starts another reply to the same prompt.
    @Sendable func regenerate(
        _ request: Request, _ responder: Responder, _ principal: Principal
    ) async throws(RelayError) {
        let trace = services[request].trace(of: request, responder)
        let body = try await decode(request)
        let policy = try request.disconnectPolicy(unless: body.onDisconnect)
        var form = AnswerForm(
            isStreamed: body.stream, showsQueue: try request.queueEvents(unless: body.queueEvents))
        form.showsSteps = try request.stepEvents(unless: body.stepEvents)
        let old = try await find(request, responder, principal)
        try principal.check(model: body.model ?? old.model)
        let reply = try await services[request].chat.regenerate(
            old, model: body.model, onDisconnect: policy, onInterrupt: body.onInterrupt, meter: principal.meter,
            trace: trace)
        await sender.start(reply, as: form, to: responder, until: services[request].watch(principal))
    }

    /// Approves or refuses a call of a tool that waits for it.
    @Sendable func approve(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError)
    {
        try request.requireJSON(like: #"{"round":0,"index":0,"approve":true}"#)
        let body = try RequestObject(request.body.bytes, members: ["round", "index", "approve"])
        guard let round = try body.number("round", in: 0...Self.maximumPlace),
            let index = try body.number("index", in: 0...Self.maximumPlace), let isApproved = try body.flag("approve")
        else { throw RelayError(.invalidRequest, "The body must have round, index and approve.") }
        let reply = try await find(request, responder, principal)
        try await services[request].chat.answer(
            isApproved ? .approved : .refused, to: StepPlace(round: round, index: index), of: reply)
        responder.respondEmptyObject()
    }

    /// The limit of the numbers of a call, which no reply reaches.
    static let maximumPlace = 9_999

    /// Continues the conversation from this reply.
    @Sendable func choose(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        try await services[request].chat.choose(try await find(request, responder, principal))
        responder.respondEmptyObject()
    }

    /// Whether a client with this position has the complete reply.
    ///
    /// The position must be the exact end of the closed reply. A client with any other position gets the stored reply.
    private func hasAll(
        _ reply: ReplyRecord, upTo position: ReplyPosition, _ service: ChatService
    ) async throws(RelayError) -> Bool {
        guard position.isEnd, position.attempt == reply.attempt, reply.state != nil else { return false }
        return try await service.page(of: reply, from: position).end == position
    }

    /// A cache must not keep a state that changes (RFC 9111 4.2.2).
    private static let momentary: Fields = [.cacheControl: "no-store"]

    /// The reply of the path. A reply of another owner is unknown to the principal.
    private func find(
        _ request: Request, _ responder: Responder, _ principal: Principal
    ) async throws(RelayError) -> ReplyRecord {
        try await services[request].reply(
            request.parameter.flatMap { ReplyID(parsing: $0) }, request, principal, to: responder)
    }

    private func decode(_ request: Request) async throws(RelayError) -> RegenerationRequest {
        if request.body.count > 0 {
            try request.requireJSON(like: #"{"model":"llama3.2"}"#)
        }
        let body = request.body.bytes
        do throws(ChatRequestError) {
            return try await LongWork.run(on: body.count) { () throws(ChatRequestError) in
                try RegenerationRequest(decoding: body.span)
            }
        } catch {
            throw RelayError(.invalidRequest, error.message)
        }
    }
}

extension Request {
    /// Whether the client asks for JSON and not for events.
    fileprivate var wantsJSON: Bool {
        let types = fields.elements(of: .accept).compactMap { MediaType(String($0)) }
        return types.contains(.json) && !types.contains(.eventStream)
    }
}

extension ShardServices {
    /// The reply with an id. A reply of another owner is unknown to the principal.
    ///
    /// - Throws: `forbidden`, `replyNotFound`, also for an id that is `nil`.
    func reply(
        _ id: ReplyID?, _ request: Request, _ principal: Principal, to responder: Responder
    ) async throws(RelayError) -> ReplyRecord {
        guard let id else { throw ChatService.replyNotFound }
        let owner = try principal.ownerOfReply(of: request)
        let reply = try await chat.find(id, of: owner)
        guard principal.permits(reply: reply.id.description, of: reply.turn.conversation) else {
            throw ChatService.replyNotFound
        }
        responder.annotate(Annotation.appID, reply.turn.conversation.owner.app)
        return reply
    }
}
