import ChatterdBasics
import ChatterdChat
import ChatterdDialects
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets

/// The handlers of `/v1/conversations` and the paths below: docs/doors.md. The id of a conversation is its name.
struct DoorConversationRoutes: Sendable {
    /// The maximum number of copies of a body while its messages are stored, itself included.
    private static let copies = 5
    /// The maximum number of copies of a body while its messages are stored, and its items are the answer.
    private static let copiesOfItems = 7
    /// The maximum number of attempts of a change of items while the conversation changes.
    private static let attempts = 5

    let services: ShardedServices
    let audit: AppKeyStore
    let memory: MemoryBudget
    /// The size up to which the items of a conversation are listed, in bytes.
    let limit: Int
    /// What happens to what neither chatterd nor a model server can do.
    let policy: DoorPolicy

    /// The scope that an operation needs.
    func scope(of operation: DoorConversationOperation) -> Scope {
        switch operation {
        case .retrieve, .listItems, .item: .read
        case .create, .change, .delete, .addItems, .deleteItem: .chat
        }
    }

    /// Answers a request that reads or changes a conversation.
    func answer(
        _ request: Request, _ responder: Responder, _ principal: Principal, _ operation: DoorConversationOperation
    ) async throws(RelayError) {
        switch operation {
        case .create: try await create(request, responder, principal)
        case .retrieve: try await retrieve(request, responder, principal)
        case .change: try await change(request, responder, principal)
        case .delete: try await delete(request, responder, principal)
        case .listItems: try await listItems(request, responder, principal)
        case .item: try await item(request, responder, principal)
        case .addItems: try await addItems(request, responder, principal)
        case .deleteItem: try await deleteItem(request, responder, principal)
        }
    }

    private func create(
        _ request: Request, _ responder: Responder, _ principal: Principal
    ) async throws(RelayError) {
        let owner = try principal.requiredOwner(of: request)
        responder.annotate(Annotation.appID, owner.app)
        guard request.body.expect(copies: Self.copies) else { throw RelayError(overloading: memory) }
        let body = try await read(request) { [policy] (bytes) throws(RelayError) in
            try ConversationBody(creating: bytes, policy)
        }
        request.body.releaseBytes()
        let key = ConversationKey(owner, name: "conv_" + ConversationKey.randomName())
        try principal.check(key)
        var title: String?
        if case .set(let text) = body.change { title = text }
        let entry = try await services[request].catalogue.create(
            key, title: title, messages: body.messages, metadata: body.metadata)
        responder.respond(entry, metadata: body.metadata, ignoring: body.ignored)
    }

    private func retrieve(
        _ request: Request, _ responder: Responder, _ principal: Principal
    ) async throws(RelayError) {
        let key = try principal.conversation(ofPath: request)
        let (entry, metadata) = try await services[request].catalogue.entryWithMetadata(of: key)
        responder.respond(entry, metadata: metadata)
    }

    private func change(
        _ request: Request, _ responder: Responder, _ principal: Principal
    ) async throws(RelayError) {
        let key = try principal.conversation(ofPath: request)
        let body = try await read(request) { (bytes) throws(RelayError) in try ConversationBody(changing: bytes) }
        let entry = try await services[request].catalogue.change(
            key, ConversationChange(title: body.change), metadata: body.metadata)
        responder.respond(entry, metadata: body.metadata)
    }

    private func delete(
        _ request: Request, _ responder: Responder, _ principal: Principal
    ) async throws(RelayError) {
        let key = try principal.conversation(ofPath: request)
        responder.annotate(Annotation.appID, key.owner.app)
        try await audit.recordDeletion(of: key, by: principal.credential.actor)
        try await services[request].chat.deleteConversation(key)
        var body = ByteBuffer()
        body.appendJSON { json in
            json.object { json in
                json.member("id", key.name)
                json.member("object", "conversation.deleted")
                json.member("deleted", true)
            }
        }
        responder.respond(json: body)
    }

    /// Lists the items that the next response of the conversation follows.
    private func listItems(
        _ request: Request, _ responder: Responder, _ principal: Principal
    ) async throws(RelayError) {
        let key = try principal.conversation(ofPath: request)
        let page = try request.itemPage()
        let (items, reservation) = try await items(of: key, request)
        try responder.respond(items, page, memory: reservation)
    }

    /// Reads an item of the list.
    private func item(
        _ request: Request, _ responder: Responder, _ principal: Principal
    ) async throws(RelayError) {
        let key = try principal.conversation(ofPath: request)
        let (items, reservation) = try await items(of: key, request)
        var body = ByteBuffer()
        guard let id = request.parameters.last, items.append(item: id, to: &body) else { throw Self.noItem }
        responder.respond(json: body, fields: [.cacheControl: "no-store"], memory: reservation)
    }

    private static let noItem = RelayError(.replyNotFound, "The conversation has no item with this id.")

    /// Adds items behind all others: all of them or none.
    private func addItems(
        _ request: Request, _ responder: Responder, _ principal: Principal
    ) async throws(RelayError) {
        let key = try principal.conversation(ofPath: request)
        responder.annotate(Annotation.appID, key.owner.app)
        guard request.body.expect(copies: Self.copiesOfItems) else { throw RelayError(overloading: memory) }
        let body = try await read(request) { [policy] (bytes) throws(RelayError) in
            try ConversationBody(adding: bytes, policy)
        }
        request.body.releaseBytes()
        let rows = try await add(body.messages, to: key, services[request])
        let items = await ItemList.listing(rows)
        var list = ByteBuffer()
        items.append(to: &list)
        responder.respond(json: list, fields: responder.tell(body.ignored, [.cacheControl: "no-store"]))
    }

    /// Adds messages. A running reply of a dead process is settled, and does not make the conversation busy.
    private func add(
        _ messages: [ModelMessage], to key: ConversationKey, _ service: ShardServices
    ) async throws(RelayError) -> [ConversationRow] {
        var left = Self.attempts
        while true {
            left -= 1
            do throws(RelayError) {
                return try await service.archive.add(messages, to: key)
            } catch  where error.code == .conversationBusy && left > 0 {
                guard await service.chat.isOver(error.reply) else { throw error }
            }
        }
    }

    /// Deletes the last item, if it was added to the conversation.
    private func deleteItem(
        _ request: Request, _ responder: Responder, _ principal: Principal
    ) async throws(RelayError) {
        let key = try principal.conversation(ofPath: request)
        responder.annotate(Annotation.appID, key.owner.app)
        let id = request.parameters.last ?? ""
        guard try await removeLastItem(id, of: key, services[request].archive) else {
            let (items, _) = try await items(of: key, request)
            guard items.contains(id) else { throw Self.noItem }
            throw RelayError(
                .replyNotComplete,
                "Only the last item can be deleted, and only one that was added to the conversation. Delete a response with "
                    + "DELETE /v1/responses/:id, or delete the conversation.")
        }
        let (entry, metadata) = try await services[request].catalogue.entryWithMetadata(of: key)
        responder.respond(entry, metadata: metadata)
    }

    /// Removes the item with an id.
    ///
    /// - Returns: `false` if it is not the last one, or belongs to a turn.
    /// - Throws: `conversationBusy` if the conversation changes all the time.
    private func removeLastItem(
        _ id: String, of key: ConversationKey, _ archive: ConversationArchive
    ) async throws(RelayError) -> Bool {
        for _ in 0..<Self.attempts {
            guard let message = try await archive.lastMessage(of: key) else { return false }
            let row = message.row
            let last = await LongWork.run(on: [row].workSize) { ItemList.Last(of: row) }
            guard let last, last.id == id else { return false }
            if try await archive.replace(message, of: key, by: last.rest) { return true }
        }
        throw RelayError(.conversationBusy, "The conversation has changed meanwhile. Send the request again.")
    }

    private func items(
        of key: ConversationKey, _ request: Request
    ) async throws(RelayError) -> (ItemList, MemoryReservation) {
        let service = services[request]
        // It exists, maybe without messages.
        _ = try await service.catalogue.entry(of: key)
        let (rows, reservation) = try await service.archive.branch(of: key, limit: limit)
        return (await ItemList.listing(rows), reservation)
    }

    private func read(
        _ request: Request, _ body: @escaping @Sendable ([UInt8]) throws(RelayError) -> ConversationBody
    ) async throws(RelayError) -> ConversationBody {
        let bytes = request.body.bytes
        return try await LongWork.run(on: bytes.count) { () throws(RelayError) in try body(bytes) }
    }
}

extension Responder {
    /// Answers with a conversation.
    fileprivate func respond(_ entry: CatalogueEntry, metadata: String, ignoring ignored: IgnoredMembers? = nil) {
        var body = ByteBuffer()
        ConversationBody.append(
            id: entry.key.name, createdAt: Int(entry.createdAt / 1_000_000), title: entry.title, metadata: metadata,
            to: &body)
        let fields: Fields = [.cacheControl: "no-store"]
        respond(json: body, fields: ignored.map { tell($0, fields) } ?? fields)
    }
}
