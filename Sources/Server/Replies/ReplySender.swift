import ChatterdBasics
import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdRelay

/// Answers requests with replies: as a stream of events, or as one object.
struct ReplySender: Sendable {
    private let keepAlive: Duration
    private let unsentLimit: Int
    private let memory: MemoryBudget

    init(_ configuration: Configuration, memory: MemoryBudget) {
        keepAlive = configuration.streams.keepAlive
        unsentLimit = configuration.streams.unsentLimit
        self.memory = memory
    }

    /// Answers with a new reply and starts it. The response ends early if the credential of `watch` is revoked. An event stream may
    /// continue after the return.
    func start(
        _ reply: Reply, as form: ReplyForm, to responder: Responder, until watch: RevocationWatch
    ) async {
        switch form {
        case .events(let showsQueue):
            let writer = eventStream(
                of: reply.id, model: reply.model, showsQueue: showsQueue, quota: reply.quota, to: responder)
            writer.follow(reply.subscribe(writer), keepAlive: keepAlive, until: watch)
            await reply.begin()
        case .object:
            let writer = object(of: reply.id, model: reply.model, quota: reply.quota, to: responder)
            writer.follow(reply.subscribe(writer), until: watch)
            await reply.begin()
            await writer.waitUntilFinished()
        }
    }

    /// Answers with a reply that has been started before, from its beginning.
    func send(
        _ reply: ReplyRecord, as form: ReplyForm, by service: ChatService, to responder: Responder,
        until watch: RevocationWatch
    ) async {
        let start = ReplyPosition(attempt: reply.attempt)
        switch form {
        case .events(let showsQueue):
            let writer = eventStream(of: reply.id, model: reply.model, showsQueue: showsQueue, to: responder)
            writer.follow(service.subscribe(writer, to: reply, from: start), keepAlive: keepAlive, until: watch)
        case .object:
            let writer = object(of: reply.id, model: reply.model, to: responder)
            writer.follow(service.subscribe(writer, to: reply, from: start), until: watch)
            await writer.waitUntilFinished()
        }
    }

    /// Answers with the events of a reply from a position on. The client may come back for more.
    func resume(
        _ reply: ReplyRecord, from position: ReplyPosition, showsQueue: Bool, by service: ChatService,
        to responder: Responder, until watch: RevocationWatch
    ) {
        let writer = eventStream(
            of: reply.id, model: reply.model, showsQueue: showsQueue, retry: Self.reconnection, to: responder)
        writer.follow(service.subscribe(writer, to: reply, from: position), keepAlive: keepAlive, until: watch)
    }

    /// The reconnection time of a client that has come back, in milliseconds.
    private static let reconnection: UInt = 1000

    /// Writes the head of an event stream, and the reconnection time if there is one.
    private func eventStream(
        of id: ReplyID, model: String, showsQueue: Bool, retry: UInt? = nil, quota: Quota? = nil,
        to responder: Responder
    ) -> EventStreamWriter {
        var fields = Self.streamFields(for: id)
        fields.add(quota)
        let stream = responder.stream(.ok, fields: fields)
        if let retry {
            stream.write { EventEncoder.append(retry: retry, to: &$0) }
        }
        return EventStreamWriter(
            stream, responder: responder, model: model, showsQueue: showsQueue, unsentLimit: unsentLimit,
            memory: memory)
    }

    private func object(
        of id: ReplyID, model: String, quota: Quota? = nil, to responder: Responder
    ) -> JSONReplyWriter {
        var fields = Self.location(of: id)
        fields.add(quota)
        return JSONReplyWriter(responder, model: model, fields: fields, memory: memory)
    }

    /// The `Location` of a reply.
    static func location(of id: ReplyID) -> Fields {
        var fields = Fields()
        // Room for the fields that follow it in a response.
        fields.reserveCapacity(4)
        if let path = FieldValue(validating: "/replies/" + id.description) {
            fields.add(.location, path)
        }
        return fields
    }

    /// The fields of an event stream. No proxy or cache may delay, change or keep it.
    static func streamFields(for id: ReplyID) -> Fields {
        var fields = location(of: id)
        fields.add(.contentType, "text/event-stream")
        fields.add(.cacheControl, "no-cache, no-transform")
        fields.add(.xAccelBuffering, "no")
        return fields
    }
}

/// The form in which a client gets a reply.
enum ReplyForm: Sendable {
    /// One JSON object when the reply has ended.
    case object
    /// Events. If `showsQueue`, queue positions are events too.
    case events(showsQueue: Bool)

    init(stream: Bool, showsQueue: Bool) {
        self = stream ? .events(showsQueue: showsQueue) : .object
    }
}
