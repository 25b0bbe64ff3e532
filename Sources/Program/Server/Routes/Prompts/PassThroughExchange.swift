import ChatterdBasics
import ChatterdChat
import ChatterdDialects
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdModelServers
import ChatterdRelay
import ChatterdSockets

/// Relays one `/llmprompt`, or another request that is passed on: the request to a model server, and its answer to the client. Confined
/// to its shard.
///
/// Without a form the client gets the bytes of the model server, and errors in Ollama's form. With a form the head of a streamed response
/// waits for the first output, so that an error before it has its status.
final class PassThroughExchange: ExchangeDelegate {
    /// The maximum size of a passed-on error body, in bytes. The relay drops the rest.
    private static let errorBodyLimit = 16 << 10

    private let responder: Responder
    private let model: UpstreamModel
    private let limits: GenerationLimits
    private let unsentLimit: Int
    private var stream: ResponseStream?
    /// The error answer of the model server, as far as it has arrived.
    private var errorAnswer: (head: ResponseHead, body: ByteBuffer)?
    /// The bytes of the answer so far.
    private var received = 0
    /// The count of the answer; `nil` if the model server has not answered.
    private(set) var count: PassedAnswerCount?
    /// How the request to the model server ended; `nil` if none was sent.
    private(set) var outcome: RequestOutcome?
    private let quota: Quota?
    /// The form of the answer; `nil` for the bytes of the model server.
    private var form: PassedAnswerForm?
    private var path = ""
    private var timer: DeadlineTimer?
    private var exchange: Exchange?
    private var finished: CheckedContinuation<Void, Never>?
    private var isPaused = false
    private var totalDeadline = Instant.distantFuture
    /// The sent request. Its memory stays reserved until the answer starts.
    private var sent: RequestBody?
    private let watch: RevocationWatch
    private var registration: RevocableResponses.Registration?

    /// Makes the relay of a request.
    ///
    /// - Parameters:
    ///   - form: the form of the answer; `nil` for the bytes of the model server.
    ///   - limits: the limits of the answer; `nil` for those of the model server.
    init(
        _ responder: Responder, _ model: UpstreamModel, as form: PassedAnswerForm? = nil,
        limits: GenerationLimits? = nil, quota: Quota? = nil, unsentLimit: Int, until watch: RevocationWatch
    ) {
        self.responder = responder
        self.model = model
        self.form = form
        self.limits = limits ?? model.limits
        self.quota = quota
        self.unsentLimit = unsentLimit
        self.watch = watch
    }

    /// Sends the request, and returns when the response is written or the client has left.
    func run(_ outgoing: [UInt8], by method: Method = .post, to path: String, of request: Request) async {
        // The client may have left while the request waited for a slot.
        guard responder.isWaiting else { return }
        self.path = path
        var fields = model.fields
        if let trace = responder.notes.trace { fields.set(trace.context) }
        let passed = OutgoingRequest(method, path, fields: fields, body: outgoing)
        request.body.releaseBytes()
        sent = request.body
        // Until another outcome is known: the client may leave.
        outcome = .cancelled
        let exchange = model.client.start(passed, to: model.origin, delegate: self)
        self.exchange = exchange
        totalDeadline = request.shard.now + limits.total
        timer = DeadlineTimer(on: request.shard) { [unowned self] in timeOut() }
        expect(within: limits.firstByte)
        responder.onClientGone = { self.end() }
        registration = watch.begin { self.fail($0) }
        await withCheckedContinuation { finished = $0 }
    }

    func exchange(_ exchange: Exchange, received head: ResponseHead) {
        sent.take()?.release()
        expect(within: limits.silence)
        guard head.status.isSuccess else {
            errorAnswer = (head, ByteBuffer())
            return
        }
        count = PassedAnswerCount(countsLines: form?.countsLines ?? true)
        if form == nil { open(head.status, Self.fields(of: head)) }
    }

    /// Opens the response.
    private func open(_ status: Status, _ fields: Fields) {
        var fields = fields
        fields.add(quota)
        let stream = responder.stream(status, fields: fields)
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
        if let errorAnswer {
            let room = Self.errorBodyLimit - errorAnswer.body.count
            self.errorAnswer?.body.append(body.extracting(first: min(room, body.count)))
            if body.count >= room {
                sendError()
            }
            return
        }
        guard count != nil else { return }
        received += body.count
        guard received <= limits.answer else {
            fail(ModelError.answerTooLarge(limits))
            return
        }
        count?.append(body)
        if form == nil {
            // A read gives much less than a write accepts.
            stream?.write { $0.append(body) }
        } else {
            do throws(PassedAnswerProblem) {
                try form?.append(body)
            } catch {
                fail(error)
                return
            }
            guard form?.reserve() != false else {
                fail(RelayError(.overloaded, form?.held.refusal ?? ""))
                return
            }
            sendOutput()
        }
        guard let stream else { return }
        if stream.unsentCount > unsentLimit, !isPaused {
            isPaused = true
            timer?.set(at: totalDeadline)
            exchange.pause()
            stream.awaitDrain()
        }
    }

    /// Sends the output of the form so far, if its answer is streamed.
    private func sendOutput() {
        guard let type = form?.encoder.streamType, let output = form?.output, !output.isEmpty else { return }
        form?.output = ByteBuffer()
        if stream == nil {
            open(.ok, Fields().forStream(type))
        }
        stream?.write { $0.append(output) }
    }

    func exchangeEnded(_ exchange: Exchange) {
        if errorAnswer != nil {
            sendError()
            return
        }
        if form == nil {
            outcome = .complete
            stream?.finish()
            end()
        } else {
            endForm()
        }
    }

    /// Sends the rest of the answer in its form.
    private func endForm() {
        do throws(PassedAnswerProblem) {
            try form?.end()
        } catch {
            fail(error)
            return
        }
        outcome = .complete
        if form?.encoder.streamType == nil, let form {
            var fields: Fields = [.cacheControl: "no-store"]
            fields.add(quota)
            responder.respond(json: form.output, fields: fields, memory: form.held)
        } else {
            sendOutput()
            stream?.finish()
        }
        end()
    }

    func exchange(_ exchange: Exchange, failed error: HTTPClientError) {
        if errorAnswer != nil {
            // The client gets the status of the error in any case.
            sendError()
            return
        }
        fail(ModelError(error))
    }

    /// Passes on the model server's error, without its key, and without paths and tracebacks of its machine.
    private func sendError() {
        guard let (head, body) = errorAnswer.take() else { return }
        let error = model.error(of: head, body: body.array, at: path)
        guard form == nil else {
            fail(error)
            return
        }
        outcome = .failed(error.code)
        responder.respond(
            head.status, fields: Self.fields(of: head),
            body: ModelError.passable(body.array, concealing: model.key))
        end()
    }

    /// Sets the timer for the next bytes of the model server.
    private func expect(within limit: Duration) {
        // During a pause only bytes from before the pause arrive. The silence is not the model server's then.
        guard !isPaused else { return }
        timer?.set(at: min(responder.shard.now + limit, totalDeadline))
    }

    private func timeOut() {
        if responder.shard.now < totalDeadline {
            exchange?.readWaitingBytes()
            // These bytes may have ended the answer or set another deadline.
            guard let timer, !timer.isSet else { return }
        }
        if errorAnswer != nil {
            sendError()
        } else if responder.shard.now >= totalDeadline {
            fail(ModelError.totalTimeout(limits.total))
        } else if count == nil {
            fail(ModelError.firstByteTimeout(limits.firstByte))
        } else {
            fail(ModelError.silenceTimeout(limits.silence))
        }
    }

    /// Ends the response: with a status before the head, with a line as Ollama writes it after the head.
    private func fail(_ failure: ModelError) {
        outcome = .failed(failure.code)
        fail(RelayError(failure))
    }

    private func fail(_ problem: PassedAnswerProblem) {
        sendOutput()
        switch problem {
        case .reported(let body): fail(model.error(inAnswer: body))
        case .malformed(let reason): fail(model.malformed(reason))
        case .incomplete: fail(model.incomplete(hasBegun: received > 0))
        }
    }

    private func fail(_ error: RelayError) {
        if let stream {
            responder.annotate(error)
            stream.write { output in
                guard let form else {
                    output.append("\n")
                    output.appendJSON { json in json.object { $0.member("error", error.message) } }
                    output.append("\n")
                    return
                }
                form.encoder.fail(error, to: &output)
            }
            stream.finish()
        } else {
            responder.refuse(error)
        }
        end()
    }

    private func end() {
        registration.take()?.cancel()
        exchange?.cancel()
        exchange = nil
        timer?.cancel()
        timer = nil
        finished.take()?.resume()
    }
}
