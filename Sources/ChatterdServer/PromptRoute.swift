import Bytes
import HTTP
import HTTPClient
import HTTPServer
import LanguageModels
import Relay
import Sockets

/// `POST /llmprompt`: the request goes to the first model server's `/api/generate` as it is, and the answer comes back as it is.
struct PromptRoute: Sendable {
    let services: [ShardServices]
    let unsentLimit: Int

    @Sendable func answer(_ request: Request, _ responder: Responder) async {
        guard let generator = services[request].upstreams.generator else {
            responder.refuse(
                RelayError(
                    .model(.unavailable), "There is no model server of kind ollama to pass this on to.",
                    detail: "no upstream of kind ollama is configured"))
            return
        }
        let relay = PromptRelay(responder, limits: generator.limits, unsentLimit: unsentLimit)
        await relay.run(request, with: generator)
    }
}

/// The model server that `/llmprompt` is passed on to.
struct Generator: Sendable {
    let client: HTTPClient
    let origin: Origin
    let fields: Fields
    let limits: GenerationLimits
}

/// One `/llmprompt` on its way. Confined to its shard.
private final class PromptRelay: ExchangeDelegate {
    private let responder: Responder
    private let limits: GenerationLimits
    private let unsentLimit: Int
    private var stream: ResponseStream?
    private var timer: DeadlineTimer?
    private var exchange: Exchange?
    private var ended: CheckedContinuation<Void, Never>?
    private var isPaused = false
    private var totalDeadline = UInt64.max

    init(_ responder: Responder, limits: GenerationLimits, unsentLimit: Int) {
        self.responder = responder
        self.limits = limits
        self.unsentLimit = unsentLimit
    }

    func run(_ request: Request, with generator: Generator) async {
        // The client may have left before this began: then nobody will report it.
        guard responder.isWaiting else { return }
        let outgoing = OutgoingRequest(.post, "/api/generate", fields: generator.fields, body: request.body)
        let exchange = generator.client.start(outgoing, to: generator.origin, delegate: self)
        self.exchange = exchange
        totalDeadline = request.shard.now &+ limits.total.nanoseconds
        timer = DeadlineTimer(on: request.shard) { [unowned self] in deadlinePassed() }
        expect(within: limits.firstByte)
        responder.onClientGone = { self.end() }
        await withCheckedContinuation { ended = $0 }
    }

    func exchange(_ exchange: Exchange, received head: ResponseHead) {
        var fields: Fields = [.cacheControl: "no-cache, no-transform", .xAccelBuffering: "no"]
        if let type = head.fields[.contentType].flatMap(FieldValue.init(validating:)) {
            fields.set(.contentType, type)
        }
        let stream = responder.stream(head.status, fields: fields)
        stream.onClientGone = { self.end() }
        stream.onDrained = { [self] in
            guard isPaused else { return }
            isPaused = false
            expect(within: limits.silence)
            self.exchange?.resume()
        }
        self.stream = stream
        expect(within: limits.silence)
    }

    func exchange(_ exchange: Exchange, received body: Span<UInt8>) {
        guard let stream else { return }
        expect(within: limits.silence)
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
        stream?.finish()
        end()
    }

    func exchange(_ exchange: Exchange, failed error: HTTPClientError) {
        fail(ModelError(error))
    }

    private func expect(within limit: Duration) {
        // What was read before a pause still comes; the silence that follows is not the model server's.
        guard !isPaused else { return }
        timer?.set(at: min(responder.shard.now &+ limit.nanoseconds, totalDeadline))
    }

    private func deadlinePassed() {
        if responder.shard.now >= totalDeadline {
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
