import ChatterdHTTP

/// A request whose body is being read. Confined to its shard.
final class IncomingRequest {
    let head: RequestHead
    let match: Router.Match
    let responder: Responder
    var decoder: BodyDecoder
    let body: RequestBody

    init(head: RequestHead, match: Router.Match, responder: Responder, decoder: BodyDecoder, body: RequestBody) {
        self.head = head
        self.match = match
        self.responder = responder
        self.decoder = decoder
        self.body = body
    }
}
