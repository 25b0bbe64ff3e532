import ChatterdBasics
import ChatterdConfiguration
import ChatterdDialects
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdRelay

/// Answers requests with replies: as a stream, or in one piece; in the form of any path.
struct AnswerSender: Sendable {
    private let settings: AnswerStream.Settings

    init(_ configuration: Configuration, memory: MemoryBudget) {
        settings = AnswerStream.Settings(
            keepAlive: configuration.streams.keepAlive, unsentLimit: configuration.streams.unsentLimit, memory: memory)
    }

    /// Answers with a new reply and starts it. The response ends early if the credential of `watch` is revoked. A stream may continue after
    /// the return.
    func start(_ reply: Reply, as form: AnswerForm, to responder: Responder, until watch: RevocationWatch) async {
        responder.notes.facts = Confined(reply.facts, to: responder.shard)
        responder.annotate(Annotation.conversation, reply.turn.conversation.text)
        let context = form.context(of: reply.id, model: reply.model, at: WallClock.nanoseconds())
        let fields = Self.fields(of: reply.id, form, reply.quota)
        guard form.isStreamed || !form.isBackground else {
            var body = ByteBuffer()
            ResponseDocument(context).appendQueued(to: &body)
            responder.respond(json: body, fields: fields)
            await reply.begin()
            return
        }
        let waits = form.translator.waitsForModelServer || !form.translator.presentsAnyEnding
        await answer(
            as: form, context, fields, reply.facts, opensAtOnce: !waits, to: responder, until: watch,
            begin: reply.begin, reply.subscribe)
    }

    /// Answers with a reply that has been started before, from a position or from its beginning.
    func send(
        _ reply: ReplyRecord, from position: ReplyPosition? = nil, as form: AnswerForm, by service: ChatService,
        to responder: Responder, until watch: RevocationWatch
    ) async {
        var context = form.context(of: reply.id, model: reply.model, at: reply.createdAtNanoseconds)
        context.attempt = reply.attempt
        let start = position ?? ReplyPosition(attempt: reply.attempt)
        let opensAtOnce = form.translator.presentsAnyEnding
        await answer(
            as: form, context, Self.fields(of: reply.id, form), opensAtOnce: opensAtOnce, to: responder, until: watch
        ) {
            service.subscribe($0, to: reply, from: start)
        }
    }

    /// Has a listener of the form follow a reply.
    private func answer(
        as form: AnswerForm, _ context: AnswerContext, _ fields: Fields, _ facts: ReplyFacts? = nil, opensAtOnce: Bool,
        to responder: Responder, until watch: RevocationWatch, begin: () async -> Void = {},
        _ subscribe: (any ReplyListener) -> ReplySubscription
    ) async {
        if form.isStreamed {
            let stream = AnswerStream(
                responder, form.translator, context, fields: fields, facts, settings,
                followsSteps: form.showsSteps || !form.servers.isEmpty)
            stream.follow(subscribe(stream), opensAtOnce: opensAtOnce, until: watch)
            await begin()
            await stream.waitUntilOpened()
        } else {
            let collector = AnswerCollector(
                responder, form.translator, context, fields: fields, facts, memory: settings.memory,
                followsSteps: !form.servers.isEmpty)
            collector.follow(subscribe(collector), until: watch)
            await begin()
            await collector.waitUntilFinished()
        }
    }

    /// `Location`, the conversation, what has no effect of the request, and the quota of the principal.
    static func fields(of id: ReplyID, _ form: AnswerForm? = nil, _ quota: Quota? = nil) -> Fields {
        var fields = Fields()
        // Room for the fields that follow it in a response.
        fields.reserveCapacity(5)
        if let path = FieldValue(validating: "/replies/" + id.description) { fields.add(.location, path) }
        // A name that a field cannot hold is left out.
        if let name = form?.conversation.flatMap(FieldValue.init(validating:)) { fields.add(.xConversationID, name) }
        if let paths = form?.ignored.flatMap(FieldValue.init(validating:)) { fields.add(.xIgnoredMembers, paths) }
        fields.add(quota)
        return fields
    }
}

/// The form in which a client gets an answer.
struct AnswerForm: Sendable {
    let translator: any AnswerTranslator
    /// Whether the answer is streamed.
    let isStreamed: Bool
    /// The model as the client has named it; `nil` for the model of the reply.
    var model: String?
    /// Whether a stream ends with the counts of tokens, if the client has the choice.
    var includesUsage = false
    /// Whether a stream has the calls of tools of the server, if the form has events for them.
    var showsSteps = false
    /// The estimated tokens of the prompt, if the form shows them; 0 for none.
    var estimatedTokens = 0
    /// The name of the conversation, as a field of the response; `nil` for none.
    var conversation: String?
    /// The paths of the request that have no effect, as a field of the response; `nil` for none.
    var ignored: String?
    /// What was kept with the request; `nil` if nothing was.
    var kept: [UInt8]?
    /// The servers of tools that the request names. The answer has their calls, streamed or not.
    var servers = ResponseServers()
    /// The number of the last event that the client has; `nil` for a stream from its beginning.
    var lastEvent: Int?
    /// Whether the client gets an answer at once, and the reply continues without it.
    var isBackground = false

    init(_ translator: any AnswerTranslator, isStreamed: Bool) {
        self.translator = translator
        self.isStreamed = isStreamed
    }

    /// The form of chatterd's own paths.
    init(
        isStreamed: Bool, showsQueue: Bool, retry: UInt32? = nil, course: ChatterdAnswers.CourseEvents? = nil
    ) {
        self.init(ChatterdAnswers(showsQueue: showsQueue, retry: retry, course: course), isStreamed: isStreamed)
    }

    /// The context of the answer of a reply.
    fileprivate func context(of id: ReplyID, model: String, at nanoseconds: Int64) -> AnswerContext {
        var context = AnswerContext(
            reply: id, model: self.model ?? model, createdAt: nanoseconds, includesUsage: includesUsage)
        (context.kept, context.lastEvent, context.estimatedTokens) = (kept, lastEvent, estimatedTokens)
        context.servers = servers
        return context
    }
}
