import ChatterdBasics
import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdRelay

/// How replies go out: as a stream of events, or whole.
struct ReplySender: Sendable {
    private let keepAlive: Duration
    private let unsentLimit: Int
    private let memory: MemoryBudget

    init(_ configuration: Configuration, memory: MemoryBudget) {
        keepAlive = configuration.streams.keepAlive
        unsentLimit = configuration.streams.unsentLimit
        self.memory = memory
    }

    /// Begins a reply, and answers with it; a stream goes on when this has returned.
    func run(_ reply: Reply, as form: ReplyForm, to responder: Responder) async {
        let whole = begin(reply.id, model: reply.model, as: form, to: responder) { reply.subscribe($0) }
        await reply.begin()
        await whole?.ended()
    }

    /// Answers with a reply that is made elsewhere, or is over.
    func send(_ reply: ReplyRecord, as form: ReplyForm, by service: ChatService, to responder: Responder) async {
        let whole = begin(reply.id, model: reply.model, as: form, to: responder) {
            service.subscribe($0, to: reply, from: ReplyPosition(attempt: reply.attempt))
        }
        await whole?.ended()
    }

    private func begin(
        _ id: ReplyID, model: String, as form: ReplyForm, to responder: Responder,
        subscribe: (any ReplyReader) -> ReplySubscription
    ) -> WholeAnswerReader? {
        if case .events(let tellsQueue) = form {
            let stream = responder.stream(.ok, fields: Self.streamFields(for: id))
            follow(stream, model: model, tellsQueue: tellsQueue, responder: responder, subscribe: subscribe)
            return nil
        }
        let reader = WholeAnswerReader(responder, model: model, location: Self.location(of: id), memory: memory)
        reader.follow(subscribe(reader))
        return reader
    }

    /// Answers with the events of a reply to a reader that may come back for more.
    func resume(
        _ reply: ReplyRecord, tellsQueue: Bool, to responder: Responder,
        subscribe: (any ReplyReader) -> ReplySubscription
    ) {
        let stream = responder.stream(.ok, fields: Self.streamFields(for: reply.id))
        stream.write { EventEncoder.append(retry: 1000, to: &$0) }
        follow(stream, model: reply.model, tellsQueue: tellsQueue, responder: responder, subscribe: subscribe)
    }

    private func follow(
        _ stream: ResponseStream, model: String, tellsQueue: Bool, responder: Responder,
        subscribe: (any ReplyReader) -> ReplySubscription
    ) {
        let reader = EventStreamReader(
            stream, responder: responder, model: model, tellsQueue: tellsQueue, unsentLimit: unsentLimit,
            memory: memory)
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
