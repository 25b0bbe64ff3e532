import ChatterdBasics
import ChatterdChat
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets

/// `/conversations`, and `PATCH /conversations/:c`: docs/api.md.
struct CatalogueRoute: Sendable {
    /// The maximum number of copies of a body while its messages are stored, itself included.
    private static let copies = 5
    /// The number of conversations whose names one query reads for their deletion.
    private static let deletionGroup = 100
    /// The number of names that are made for a new conversation until one is free.
    private static let names = 3

    let services: ShardedServices
    let audit: AppKeyStore
    let memory: MemoryBudget
    /// Makes the name of a new conversation.
    let makeName: @Sendable () -> String

    /// Lists the conversations of the owner, or searches them.
    @Sendable func list(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        let query = try CatalogueQuery(request, principal)
        let text = try request.searchText()
        responder.annotate(Annotation.appID, query.owner.app)
        let catalogue = services[request].catalogue
        if let text {
            let page = try await catalogue.search(query, for: text)
            responder.respond(json: ConversationDocument.json(page), fields: Self.momentary)
        } else {
            let page = try await catalogue.list(query)
            responder.respond(json: ConversationDocument.json(page), fields: Self.momentary)
        }
    }

    /// Creates a conversation.
    @Sendable func create(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        let owner = try principal.requiredOwner(of: request)
        responder.annotate(Annotation.appID, owner.app)
        if request.body.count > 0 {
            try request.requireJSON(like: #"{"conversation":"Rome","title":"A week in Rome"}"#)
        }
        guard request.body.expect(copies: Self.copies) else { throw RelayError(overloading: memory) }
        let creation: ConversationCreation
        let body = request.body.bytes
        do throws(ChatRequestError) {
            creation = try await LongWork.run(on: body.count) { () throws(ChatRequestError) in
                try ConversationCreation(decoding: body.span)
            }
        } catch {
            throw RelayError(.invalidRequest, error.message)
        }
        request.body.releaseBytes()
        let entry = try await create(creation, owner, principal, services[request].catalogue)
        let path = "\(Route.conversations.rawValue)/\(PathEncoding.segment(entry.key.name))"
        responder.respond(
            .created, json: ConversationDocument.json(entry),
            fields: FieldValue(validating: path).map { [.location: $0] } ?? [:])
    }

    private func create(
        _ creation: ConversationCreation, _ owner: Owner, _ principal: Principal, _ catalogue: ConversationCatalogue
    ) async throws(RelayError) -> CatalogueEntry {
        var left = creation.name == nil ? Self.names : 1
        while true {
            let key = ConversationKey(owner, name: creation.name ?? makeName())
            try principal.check(key)
            try key.requireNewName()
            left -= 1
            do throws(RelayError) {
                return try await catalogue.create(key, title: creation.title, messages: creation.messages)
            } catch  where error.code == .conversationExists && left > 0 {
                continue
            }
        }
    }

    /// Changes the title of a conversation, or archives it.
    @Sendable func change(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        let key = try principal.conversation(ofPath: request)
        responder.annotate(Annotation.appID, key.owner.app)
        try request.requireJSON(like: #"{"title":"A week in Rome"}"#)
        let change: ConversationChange
        let body = try request.smallBody
        do throws(ChatRequestError) {
            change = try ConversationChange(decoding: body.span)
        } catch {
            throw RelayError(.invalidRequest, error.message)
        }
        let entry = try await services[request].catalogue.change(key, change)
        responder.respond(json: ConversationDocument.json(entry))
    }

    /// Deletes the conversations of the owner one by one. It ends early when the client has left.
    @Sendable func deleteAll(
        _ request: Request, _ responder: Responder, _ principal: Principal
    ) async throws(RelayError) {
        var query = CatalogueQuery(owner: try principal.requiredOwner(of: request), limit: Self.deletionGroup)
        query.names = principal.conversations.map { $0.map(\.text) }
        responder.annotate(Annotation.appID, query.owner.app)
        guard request.head.target.queryItem("all") == "1" else {
            throw RelayError(
                .invalidRequest,
                "This would delete all conversations. Send DELETE /conversations?all=1 to do that; DELETE /conversations/NAME deletes one."
            )
        }
        var count = 0
        var last: ConversationKey?
        while responder.isWaiting {
            let keys = try await services[request].catalogue.keys(of: query, after: last)
            for key in keys where responder.isWaiting {
                try await services[request].chat.deleteConversation(key)
                count += 1
            }
            guard keys.count == Self.deletionGroup else { break }
            last = keys.last
        }
        // An earlier version has written no row for this one.
        let main = ConversationKey(query.owner)
        if principal.permits(main) {
            try await services[request].chat.deleteConversation(main)
        }
        if count > 0 {
            try await audit.record(AuditEntry(deletionOf: query.owner, by: principal.credential.actor))
        }
        responder.respond(json: Self.deleted(count))
    }

    private static func deleted(_ count: Int) -> ByteBuffer {
        var body = ByteBuffer()
        body.appendJSON { json in json.object { $0.member("deleted", count) } }
        return body
    }

    /// A cache must not keep a list that changes (RFC 9111 4.2.2).
    private static let momentary: Fields = [.cacheControl: "no-store"]
}
