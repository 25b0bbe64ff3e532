import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdPostgresStore
import ChatterdRelay

/// `POST /postchatt` and `GET /getchatts`: docs/api.md.
struct BoardRoute: Sendable {
    let services: ShardedServices

    /// Stores a posting.
    @Sendable func post(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        try request.requireJSON(like: #"{"name":"ada","message":"Hello, board"}"#)
        let body = try request.smallBody
        let posting = try Posting(decoding: body.span)
        try await services[request].chatBoard.post(name: posting.name, message: posting.message)
        responder.respondEmptyObject()
    }

    /// Lists the newest postings, oldest first.
    @Sendable func list(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        guard request.method != .head else {
            // RFC 9110 9.3.2: a HEAD response may omit a length that is known only after the content is generated.
            responder.stream(.ok, fields: [.contentType: "application/json"]).finish()
            return
        }
        let list = try await services[request].chatBoard.list()
        responder.respond(json: list.json, memory: list.memory)
    }
}
