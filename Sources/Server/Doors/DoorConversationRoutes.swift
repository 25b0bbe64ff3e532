import ChatterdBasics
import ChatterdDoors
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdLanguageModels
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets

/// The handlers of `/v1/conversations` and the paths below: docs/doors.md. The id of a conversation is its name.
struct DoorConversationRoutes: Sendable {
    /// The maximum number of copies of a body while its messages are stored, itself included.
    private static let copies = 5

    let services: ShardedServices
    let audit: AppKeyStore
    let memory: MemoryBudget
    /// The size up to which the items of a conversation are listed, in bytes.
    let limit: Int

    /// The handler of an operation, and the scope that it needs.
    func handler(of operation: DoorConversationOperation) -> (handler: AuthorizedHandler, scope: Scope) {
        switch operation {
        case .create: (create, .chat)
        case .retrieve: (retrieve, .read)
        case .change: (change, .chat)
        case .delete: (delete, .chat)
        case .listItems: (listItems, .read)
        case .item: (item, .read)
        }
    }

    @Sendable private func create(_ request: Request, _ responder: Responder, _ principal: Principal) async {
        do throws(RelayError) {
            let owner = try principal.requiredOwner(of: request)
            responder.annotate(Annotation.appID, owner.app)
            guard request.body.expect(copies: Self.copies) else { throw RelayError(overloading: memory) }
            guard
                let body = await read(
                    request, responder, { (bytes) throws(DoorFault) in try ConversationBody(creating: bytes) })
            else { return }
            request.body.releaseBytes()
            let key = ConversationKey(owner, name: "conv_" + ConversationKey.randomName())
            try principal.check(key)
            var title: String?
            if case .set(let text) = body.change { title = text }
            let entry = try await services[request].catalogue.create(key, title: title, messages: body.messages)
            responder.respond(entry)
        } catch {
            responder.refuse(error)
        }
    }

    @Sendable private func retrieve(_ request: Request, _ responder: Responder, _ principal: Principal) async {
        do throws(RelayError) {
            let key = try principal.conversation(ofPath: request)
            responder.respond(try await services[request].catalogue.entry(of: key))
        } catch {
            responder.refuse(error)
        }
    }

    @Sendable private func change(_ request: Request, _ responder: Responder, _ principal: Principal) async {
        do throws(RelayError) {
            let key = try principal.conversation(ofPath: request)
            guard
                let body = await read(
                    request, responder, { (bytes) throws(DoorFault) in try ConversationBody(changing: bytes) })
            else { return }
            responder.respond(try await services[request].catalogue.change(key, ConversationChange(title: body.change)))
        } catch {
            responder.refuse(error)
        }
    }

    @Sendable private func delete(_ request: Request, _ responder: Responder, _ principal: Principal) async {
        do throws(RelayError) {
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
        } catch {
            responder.refuse(error)
        }
    }

    /// Lists the items that the next response of the conversation follows.
    @Sendable private func listItems(_ request: Request, _ responder: Responder, _ principal: Principal) async {
        do throws(RelayError) {
            let key = try principal.conversation(ofPath: request)
            let page = try request.itemPage()
            let (items, reservation) = try await items(of: key, request)
            try responder.respond(items, page, memory: reservation)
        } catch {
            responder.refuse(error)
        }
    }

    /// Reads an item of the list.
    @Sendable private func item(_ request: Request, _ responder: Responder, _ principal: Principal) async {
        do throws(RelayError) {
            let key = try principal.conversation(ofPath: request)
            let (items, reservation) = try await items(of: key, request)
            var body = ByteBuffer()
            guard let id = request.parameters.last, items.append(item: id, to: &body) else {
                throw RelayError(.replyNotFound, "The conversation has no item with this id.")
            }
            responder.respond(json: body, fields: [.cacheControl: "no-store"], memory: reservation)
        } catch {
            responder.refuse(error)
        }
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

    /// Reads a body; answers with the fault and returns `nil` if that is impossible.
    private func read(
        _ request: Request, _ responder: Responder,
        _ body: @escaping @Sendable ([UInt8]) throws(DoorFault) -> ConversationBody
    ) async -> ConversationBody? {
        let bytes = request.body.bytes
        do throws(DoorFault) {
            return try await LongWork.run(on: bytes.count) { () throws(DoorFault) in try body(bytes) }
        } catch {
            responder.refuse(error)
            return nil
        }
    }
}

extension Responder {
    /// Answers with a conversation.
    fileprivate func respond(_ entry: CatalogueEntry) {
        var body = ByteBuffer()
        ConversationBody.append(
            id: entry.key.name, createdAt: Int(entry.createdAt / 1_000_000), title: entry.title, to: &body)
        respond(json: body, fields: [.cacheControl: "no-store"])
    }
}
