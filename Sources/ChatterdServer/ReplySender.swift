import HTTP
import HTTPServer
import Relay

/// How replies go out: as a stream of events, or whole.
struct ReplySender: Sendable {
    private let keepAlive: Duration
    private let unsentLimit: Int

    init(_ configuration: Configuration) {
        keepAlive = configuration.relay.keepAlive
        unsentLimit = configuration.server.unsentLimit
    }

    /// Runs a reply, and answers with it.
    ///
    /// - Parameter isWhole: whether it is sent as one object when it is complete.
    func run(_ reply: Reply, isWhole: Bool, to responder: Responder) async {
        let whole = begin(reply.id, model: reply.model, isWhole: isWhole, to: responder) { reply.subscribe($0) }
        await reply.run()
        await whole?.ended()
    }

    /// Answers with a reply that is made elsewhere, or is over.
    func send(_ reply: ReplyRecord, isWhole: Bool, by service: ChatService, to responder: Responder) async {
        let whole = begin(reply.id, model: reply.model, isWhole: isWhole, to: responder) {
            service.subscribe($0, to: reply, from: ReplyPosition(attempt: reply.attempt))
        }
        await whole?.ended()
    }

    private func begin(
        _ id: ReplyID, model: String, isWhole: Bool, to responder: Responder,
        subscribe: (any ReplyReader) -> ReplySubscription
    ) -> WholeAnswerReader? {
        guard isWhole else {
            let stream = responder.stream(.ok, fields: Self.streamFields(for: id))
            follow(stream, model: model, responder: responder, subscribe: subscribe)
            return nil
        }
        let reader = WholeAnswerReader(responder, model: model, location: Self.location(of: id))
        reader.follow(subscribe(reader))
        return reader
    }

    /// Answers with the events of a reply to a reader that may come back for more.
    func resume(
        _ reply: ReplyRecord, to responder: Responder, subscribe: (any ReplyReader) -> ReplySubscription
    ) {
        let stream = responder.stream(.ok, fields: Self.streamFields(for: reply.id))
        stream.write { EventEncoder.append(retry: 1000, to: &$0) }
        follow(stream, model: reply.model, responder: responder, subscribe: subscribe)
    }

    private func follow(
        _ stream: ResponseStream, model: String, responder: Responder,
        subscribe: (any ReplyReader) -> ReplySubscription
    ) {
        let reader = EventStreamReader(stream, responder: responder, model: model, unsentLimit: unsentLimit)
        reader.follow(subscribe(reader), keepAlive: keepAlive)
    }

    /// Where a reply can be read again.
    static func location(of id: ReplyID) -> Fields {
        FieldValue(validating: "/replies/\(id)").map { [.location: $0] } ?? [:]
    }

    /// Nothing on the way may hold the stream back, change or keep it.
    static func streamFields(for id: ReplyID) -> Fields {
        var fields = location(of: id)
        fields.add(.contentType, "text/event-stream")
        fields.add(.cacheControl, "no-cache, no-transform")
        fields.add(.xAccelBuffering, "no")
        return fields
    }
}
