import ChatterdBasics
import ChatterdChat
import ChatterdDialects
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets

/// The handlers of the paths below `/v1/responses`: docs/doors.md. A response is a reply.
struct ResponseRoutes: Sendable {
    let services: ShardedServices
    let sender: AnswerSender
    let memory: MemoryBudget

    /// The scope that an operation needs.
    func scope(of operation: ResponseOperation) -> Scope {
        switch operation {
        case .retrieve, .listInput: .read
        case .cancel, .delete: .chat
        }
    }

    /// Answers a request that reads or changes a response.
    func answer(
        _ request: Request, _ responder: Responder, _ principal: Principal, _ operation: ResponseOperation,
        _ translator: any ChatTranslator
    ) async throws(RelayError) {
        switch operation {
        case .retrieve: try await retrieve(request, responder, principal, translator)
        case .cancel: try await cancel(request, responder, principal)
        case .delete: try await delete(request, responder, principal)
        case .listInput: try await listInput(request, responder, principal)
        }
    }

    /// Describes the response, or streams it: from its beginning, or after an event.
    private func retrieve(
        _ request: Request, _ responder: Responder, _ principal: Principal, _ translator: any ChatTranslator
    ) async throws(RelayError) {
        let service = services[request]
        let reply = try await find(request, responder, principal)
        guard try request.boolean("stream") else {
            try await describe(reply, for: principal, to: responder, by: service)
            return
        }
        var context = try await context(of: reply, for: principal, by: service)
        if let text = request.head.target.queryItem("starting_after") { try context.resume(after: text) }
        // A client that has left must not keep the reply running.
        guard responder.isWaiting else { return }
        var form = AnswerForm(translator, isStreamed: true)
        (form.kept, form.servers, form.lastEvent) = (context.kept, context.servers, context.lastEvent)
        // From the beginning, because the last events repeat the whole text.
        await sender.send(reply, as: form, by: service.chat, to: responder, until: service.watch(principal))
    }

    /// Stops the response. One that is over stays as it is.
    private func cancel(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        let service = services[request]
        let reply = try await service.chat.stop(try await find(request, responder, principal))
        try await describe(reply, for: principal, to: responder, by: service)
    }

    /// Removes the response with its input.
    private func delete(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        let service = services[request]
        let reply = try await service.chat.stop(try await find(request, responder, principal))
        let conversation = reply.turn.conversation
        if conversation.isStateless {
            try await service.chat.deleteConversation(conversation)
        } else {
            try await service.archive.remove(reply)
        }
        var body = ByteBuffer()
        body.appendJSON { json in
            json.object { json in
                json.member("id", "resp_\(reply.id)")
                json.member("object", "response")
                json.member("deleted", true)
            }
        }
        responder.respond(json: body)
    }

    /// Lists the items of the input.
    private func listInput(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError)
    {
        let reply = try await find(request, responder, principal)
        // Who may read only this reply may not read its prompt.
        try principal.check(reply.turn.conversation)
        let page = try request.itemPage()
        let archive = services[request].archive
        let (rows, reservation) = try await archive.prompts(of: reply)
        let kept = try await archive.members(of: reply).kept
        try responder.respond(await ItemList.listing(rows, kept: kept), page, memory: reservation)
    }

    // MARK: - Pieces

    /// Answers with a reply as a response; `fields` are further fields.
    func describe(
        _ reply: ReplyRecord, for principal: Principal, to responder: Responder, by service: ShardServices,
        fields: Fields = [:]
    ) async throws(RelayError) {
        let reservation = memory.charge(0)
        let page = try await service.chat.readWhole(reply, in: reservation)
        let document = ResponseDocument(try await context(of: reply, for: principal, by: service))
        let body = await LongWork.run(on: page.size + (page.steps?.size ?? 0)) {
            var body = ByteBuffer()
            document.append(page, to: &body)
            return body
        }
        // A cache must not keep a state that changes (RFC 9111 4.2.2).
        var fields = fields
        fields.set(.cacheControl, "no-store")
        responder.respond(json: body, fields: fields, memory: reservation)
    }

    /// The context of a reply. Who may read only this reply does not get what it repeats of its request.
    private func context(
        of reply: ReplyRecord, for principal: Principal, by service: ShardServices
    ) async throws(RelayError) -> AnswerContext {
        var context = AnswerContext(reply: reply.id, model: reply.model, createdAt: reply.createdAtNanoseconds)
        context.attempt = reply.attempt
        if principal.permits(reply.turn.conversation) {
            let members = try await service.archive.members(of: reply)
            (context.kept, context.servers) = (members.kept, ResponseServers(of: members))
        }
        return context
    }

    private func find(
        _ request: Request, _ responder: Responder, _ principal: Principal
    ) async throws(RelayError) -> ReplyRecord {
        let id = request.parameter.flatMap { ReplyID(response: $0) }
        return try await services[request].reply(id, request, principal, to: responder)
    }
}
