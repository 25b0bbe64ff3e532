import ChatterdBasics
import ChatterdConfiguration
import ChatterdDoors
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdRelay

/// Answers requests of doors with replies.
struct DoorSender: Sendable {
    private let keepAlive: Duration
    private let unsentLimit: Int
    private let memory: MemoryBudget

    init(_ configuration: Configuration, memory: MemoryBudget) {
        keepAlive = configuration.streams.keepAlive
        unsentLimit = configuration.streams.unsentLimit
        self.memory = memory
    }

    /// Answers with a new reply and starts it. A stream may continue after the return.
    func start(_ reply: Reply, as form: DoorForm, to responder: Responder, until watch: RevocationWatch) async {
        if form.stream {
            let writer = stream(of: reply.id, as: form, quota: reply.quota, to: responder)
            writer.follow(reply.subscribe(writer), until: watch)
            await reply.begin()
            await writer.waitUntilOpened()
        } else if form.isBackground {
            var body = ByteBuffer()
            ResponseDocument(form.context(of: reply.id, at: WallClock.nanoseconds())).appendQueued(to: &body)
            responder.respond(json: body, fields: Self.fields(of: reply.id, form, reply.quota))
            await reply.begin()
        } else {
            let writer = object(of: reply.id, as: form, quota: reply.quota, to: responder)
            writer.follow(reply.subscribe(writer), until: watch)
            await reply.begin()
            await writer.waitUntilFinished()
        }
    }

    /// Answers with a reply that has been started before, from its beginning.
    func send(
        _ reply: ReplyRecord, as form: DoorForm, by service: ChatService, to responder: Responder,
        until watch: RevocationWatch
    ) async {
        let start = ReplyPosition(attempt: reply.attempt)
        if form.stream {
            let writer = stream(of: reply.id, as: form, attempt: reply.attempt, to: responder)
            writer.follow(service.subscribe(writer, to: reply, from: start), until: watch)
            await writer.waitUntilOpened()
        } else {
            let writer = object(of: reply.id, as: form, to: responder)
            writer.follow(service.subscribe(writer, to: reply, from: start), until: watch)
            await writer.waitUntilFinished()
        }
    }

    /// Answers with the stream of a reply as its context says, which may begin after an event.
    func resume(
        _ reply: ReplyRecord, _ context: AnswerContext, as translator: any ChatTranslator, by service: ChatService,
        to responder: Responder, until watch: RevocationWatch
    ) async {
        let writer = stream(of: context, as: translator, fields: ReplySender.location(of: reply.id), to: responder)
        // From the beginning, because the last events repeat the whole text.
        let start = ReplyPosition(attempt: reply.attempt)
        writer.follow(service.subscribe(writer, to: reply, from: start), until: watch)
        await writer.waitUntilOpened()
    }

    private func stream(
        of id: ReplyID, as form: DoorForm, attempt: Int = 1, quota: Quota? = nil, to responder: Responder
    ) -> DoorStreamWriter {
        var context = form.context(of: id, at: WallClock.nanoseconds())
        context.attempt = attempt
        return stream(of: context, as: form.translator, fields: Self.fields(of: id, form, quota), to: responder)
    }

    private func stream(
        of context: AnswerContext, as translator: any ChatTranslator, fields: Fields, to responder: Responder
    ) -> DoorStreamWriter {
        DoorStreamWriter(
            responder, translator.makeEncoder(context), model: context.model, hasContent: context.hasContent,
            fields: fields, keepAlive: keepAlive, unsentLimit: unsentLimit, memory: memory)
    }

    private func object(
        of id: ReplyID, as form: DoorForm, quota: Quota? = nil, to responder: Responder
    ) -> JSONReplyWriter {
        JSONReplyWriter(
            responder, model: form.model, fields: Self.fields(of: id, form, quota), memory: memory,
            form: (form.translator, form.context(of: id, at: WallClock.nanoseconds())))
    }

    /// `Location`, the conversation, and the quota of the principal.
    private static func fields(of id: ReplyID, _ form: DoorForm, _ quota: Quota?) -> Fields {
        var fields = ReplySender.location(of: id)
        // A name that a field cannot hold is left out.
        if let name = form.conversation.flatMap(FieldValue.init(validating:)) { fields.add(.xConversationID, name) }
        fields.add(quota)
        return fields
    }
}

/// The form in which a client of a door gets a reply.
struct DoorForm: Sendable {
    let translator: any ChatTranslator
    /// Whether the answer is streamed.
    let stream: Bool
    let includesUsage: Bool
    /// The requested model.
    let model: String
    /// The name of the conversation; `nil` for a request without an identity.
    let conversation: String?

    /// What was kept with the request; `nil` if nothing was.
    var kept: [UInt8]?
    /// Whether the client gets an answer at once, and the reply continues without it.
    var isBackground = false

    /// The context of the answer of a reply.
    func context(of id: ReplyID, at nanoseconds: Int64) -> AnswerContext {
        var context = AnswerContext(reply: id, model: model, createdAt: nanoseconds, includesUsage: includesUsage)
        context.kept = kept
        return context
    }
}
