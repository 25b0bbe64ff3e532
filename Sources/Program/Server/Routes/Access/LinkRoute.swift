import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdRelay

/// `POST /links`, for an `EventSource`, which cannot set fields: docs/api.md.
struct LinkRoute: Sendable {
    /// The lifetime of a link unless the request says otherwise, in seconds.
    static let standardLifetime = 300
    /// The longest lifetime of a link, in seconds: an hour.
    static let maximumLifetime = 3_600

    let services: ShardedServices
    let registry: AccessRegistry

    /// Makes a link to a reply, or to a conversation, that the principal may read.
    @Sendable func create(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        let object = try RequestObject(try request.smallBody, members: ["reply", "conversation", "expires_in"])
        guard let owner = principal.owner, !principal.credential.isLink else {
            throw RelayError(AccessError(.forbidden, "Only a key of an app, a token or a session makes links."))
        }
        let (target, path) = try await target(of: object, owner, principal, request)
        let lifetime = try object.number("expires_in", in: 1...Self.maximumLifetime) ?? Self.standardLifetime
        let link = try await registry.makeLink(
            to: target, of: owner, by: principal.credential, lifetime: Int64(lifetime), until: principal.expiresAt)
        var body = ByteBuffer()
        body.appendJSON { json in
            json.object { json in
                json.member("url", "\(path)?link=\(link.text)")
                json.member("link", link.text)
                json.member("expires_in", Int(link.lifetime))
            }
        }
        responder.respond(.created, json: body, fields: [.cacheControl: "no-store"])
    }

    private func target(
        of object: RequestObject, _ owner: Owner, _ principal: Principal, _ request: Request
    ) async throws(RelayError) -> (SignedLink.Target, path: String) {
        let reply = try object.name("reply", upTo: SignedLink.maximumIDLength)
        let name = try object.name("conversation", upTo: ConversationKey.maximumNameLength)
        switch (reply, name) {
        case (let text?, nil):
            guard let id = ReplyID(parsing: text) else { throw ChatService.replyNotFound }
            let record = try await services[request].chat.find(id, of: owner)
            guard principal.permits(reply: record.id.description, of: record.turn.conversation) else {
                throw ChatService.replyNotFound
            }
            return (.reply(record.id.description), "/replies/\(record.id.description)")
        case (nil, let name?):
            try principal.check(ConversationKey(owner, name: name))
            return (.conversation(name), "/conversations/\(PathEncoding.name(name))/events")
        default:
            throw RelayError(.invalidRequest, "Give either reply, the id of a reply, or conversation, its name.")
        }
    }
}
