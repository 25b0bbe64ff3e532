import ChatterdBasics
import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdHTTPServer
import ChatterdJSONLog
import ChatterdLanguageModels
import ChatterdModelServers
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets

/// `POST /llmprompt`: passes the request to the `/api/generate` of a model server with the model, and returns its answer.
struct PromptRoute: Sendable {
    let services: [ShardServices]
    let unsentLimit: Int

    @Sendable func answer(_ request: Request, _ responder: Responder) async {
        do throws(RelayError) {
            let services = services[request]
            try request.requireJSON(like: #"{"model":"tinyllama","prompt":"Hello"}"#)
            let prompt = try PassedPrompt(request.body.bytes)
            let (choice, generator) = try services.upstreams.generator(for: prompt.model)
            let place = try services.chat.admitPassedRequest()
            defer { place.end() }
            // A client that left earlier causes no `onClientGone`.
            guard responder.isWaiting else { return }
            responder.onClientGone = { place.end() }
            try await place.takeSlot(of: choice.upstream.description)
            let relay = PromptRelay(responder, generator, unsentLimit: unsentLimit)
            await relay.run(prompt.body(asking: choice.model), of: request)
        } catch {
            responder.refuse(error)
        }
    }
}

/// One `/llmprompt` on its way. Confined to its shard.
private final class PromptRelay: ExchangeDelegate {
    /// The maximum size of a passed-on error body, in bytes. The route drops the rest.
    private static let errorBodyLimit = 16 << 10

    private let responder: Responder
    private let generator: Generator
    private let limits: GenerationLimits
    private let unsentLimit: Int
    private var stream: ResponseStream?
    /// An error answer. The route collects it and removes the key from it.
    private var refusal: (head: ResponseHead, body: ByteBuffer)?
    /// The bytes of the answer so far.
    private var received = 0
    private var timer: DeadlineTimer?
    private var exchange: Exchange?
    private var ended: CheckedContinuation<Void, Never>?
    private var isPaused = false
    private var totalDeadline = Instant.distantFuture
    /// The sent request. Its memory stays reserved until the answer starts.
    private var sent: RequestBody?

    init(_ responder: Responder, _ generator: Generator, unsentLimit: Int) {
        self.responder = responder
        self.generator = generator
        limits = generator.limits
        self.unsentLimit = unsentLimit
    }

    func run(_ outgoing: [UInt8], of request: Request) async {
        // The client may have left while the request waited for a slot.
        guard responder.isWaiting else { return }
        let passed = OutgoingRequest(.post, "/api/generate", fields: generator.fields, body: outgoing)
        request.body.releaseBytes()
        sent = request.body
        let exchange = generator.client.start(passed, to: generator.origin, delegate: self)
        self.exchange = exchange
        totalDeadline = request.shard.now + limits.total
        timer = DeadlineTimer(on: request.shard) { [unowned self] in deadlinePassed() }
        expect(within: limits.firstByte)
        responder.onClientGone = { self.end() }
        await withCheckedContinuation { ended = $0 }
    }

    func exchange(_ exchange: Exchange, received head: ResponseHead) {
        sent.take()?.release()
        expect(within: limits.silence)
        guard head.status.isSuccess else {
            refusal = (head, ByteBuffer())
            return
        }
        let stream = responder.stream(head.status, fields: Self.fields(of: head))
        stream.onClientGone = { self.end() }
        stream.onDrained = { [self] in
            guard isPaused else { return }
            isPaused = false
            expect(within: limits.silence)
            self.exchange?.resume()
        }
        self.stream = stream
    }

    /// The fields of the response. The model server chooses its content, so a browser must not treat it as a page.
    private static func fields(of head: ResponseHead) -> Fields {
        var fields: Fields = [
            .cacheControl: "no-cache, no-transform", .xAccelBuffering: "no", .xContentTypeOptions: "nosniff",
        ]
        if let type = head.fields[.contentType].flatMap(FieldValue.init(validating:)) {
            let isHarmless = head.fields.mediaType.map { $0.isJSON || $0 == .ndjson || $0.text == "text/plain" }
            fields.set(.contentType, isHarmless == true ? type : "application/octet-stream")
        }
        return fields
    }

    func exchange(_ exchange: Exchange, received body: Span<UInt8>) {
        expect(within: limits.silence)
        if let refusal {
            let room = Self.errorBodyLimit - refusal.body.count
            self.refusal?.body.append(body.extracting(first: min(room, body.count)))
            if body.count >= room {
                refuse()
            }
            return
        }
        guard let stream else { return }
        received += body.count
        guard received <= limits.answer else {
            fail(ModelError(.answerTooLarge, "The answer grew beyond \(limits.answer) bytes, and was ended."))
            return
        }
        // At most what one read gives: well below what one write takes.
        stream.write { $0.append(body) }
        if stream.unsentCount > unsentLimit, !isPaused {
            isPaused = true
            timer?.set(at: totalDeadline)
            exchange.pause()
            stream.awaitDrain()
        }
    }

    func exchangeEnded(_ exchange: Exchange) {
        if refusal != nil {
            refuse()
            return
        }
        stream?.finish()
        end()
    }

    func exchange(_ exchange: Exchange, failed error: HTTPClientError) {
        if refusal != nil {
            // The client gets the status of the error in any case.
            refuse()
            return
        }
        fail(ModelError(error))
    }

    /// Passes on the model server's error, without its key, and without paths and tracebacks of its machine.
    private func refuse() {
        guard let refusal = refusal.take() else { return }
        responder.respond(
            refusal.head.status, fields: Self.fields(of: refusal.head),
            body: ModelError.passable(refusal.body.array, concealing: generator.key))
        end()
    }

    private func expect(within limit: Duration) {
        // What was read before a pause still comes; the silence that follows is not the model server's.
        guard !isPaused else { return }
        timer?.set(at: min(responder.shard.now + limit, totalDeadline))
    }

    private func deadlinePassed() {
        if refusal != nil {
            refuse()
        } else if responder.shard.now >= totalDeadline {
            fail(ModelError(.totalTimeout, "The answer took longer than \(limits.total), and was ended."))
        } else if stream == nil {
            fail(
                ModelError(
                    .firstByteTimeout, "The model server did not begin to answer within \(limits.firstByte)."))
        } else {
            fail(ModelError(.silenceTimeout, "The model server fell silent in the middle of its answer."))
        }
    }

    /// Before the head the failure is a status; after it, a line as Ollama itself writes one.
    private func fail(_ failure: ModelError) {
        let error = RelayError(failure)
        if let stream {
            responder.annotate(Annotation.code, error.code.rawValue)
            stream.write {
                $0.append("\n{\"error\":")
                $0.append(jsonString: error.message)
                $0.append("}\n")
            }
            stream.finish()
        } else {
            responder.refuse(error)
        }
        end()
    }

    private func end() {
        exchange?.cancel()
        exchange = nil
        timer?.cancel()
        timer = nil
        ended.take()?.resume()
    }
}
