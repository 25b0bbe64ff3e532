import ChatterdBasics
import ChatterdChat
import ChatterdDialects
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdRelay
import ChatterdSockets

/// Writes a reply as a stream. Confined to its shard.
///
/// The head of the response waits for the first piece of the answer, so that an error before it has a status, as from the original server;
/// but not longer than the interval of the keep-alives. If the form presents errors in its streams as well, it does not wait, or only until
/// a model server works.
final class AnswerStream: ReplyListener {
    /// Limit of unsent output for a slow client when memory is short, in bytes.
    static let leastUnsent = 32 * 1024

    /// What all streams of a process have in common. An object, because a process has many streams.
    final class Settings: Sendable {
        let keepAlive: Duration
        let unsentLimit: Int
        let memory: MemoryBudget

        init(keepAlive: Duration, unsentLimit: Int, memory: MemoryBudget) {
            self.keepAlive = keepAlive
            self.unsentLimit = unsentLimit
            self.memory = memory
        }
    }

    /// What a stream has until its head is written.
    private final class Opening {
        /// The fields of the response besides those of a stream.
        let fields: Fields
        /// What is known of a reply that the request has begun.
        let facts: ReplyFacts?
        /// Writes the head if no piece of the answer comes in time.
        var timer: DeadlineTimer?
        /// The handler, which waits for the head of the response.
        var handler: CheckedContinuation<Void, Never>?

        init(_ fields: Fields, _ facts: ReplyFacts?) {
            (self.fields, self.facts) = (fields, facts)
        }
    }

    /// The head of the response.
    private enum Head {
        case waiting(Opening)
        case written(ResponseStream)
        /// The stream ends without a head.
        case none
    }

    private let responder: Responder
    private var encoder: any AnswerEncoder
    private let model: String
    private let settings: Settings
    private var head: Head
    private var subscription: ReplySubscription?
    private var registration: RevocableResponses.Registration?
    private let presentsAnyEnding: Bool
    let followsSteps: Bool
    /// Whether the client has a piece of the answer, from this stream or an earlier one.
    private var hasContent: Bool
    private var isFull = false

    init(
        _ responder: Responder, _ translator: any AnswerTranslator, _ context: AnswerContext, fields: Fields,
        _ facts: ReplyFacts?, _ settings: Settings, followsSteps: Bool = false
    ) {
        self.responder = responder
        self.followsSteps = followsSteps
        encoder = translator.makeEncoder(context)
        presentsAnyEnding = translator.presentsAnyEnding
        model = context.model
        hasContent = context.hasContent
        self.settings = settings
        head = .waiting(Opening(fields, facts))
    }

    /// `nil` after the head, and if the stream ends without one.
    private var opening: Opening? {
        if case .waiting(let opening) = head { opening } else { nil }
    }

    /// The response, once its head is written.
    private var stream: ResponseStream? {
        if case .written(let stream) = head { stream } else { nil }
    }

    /// Writes the subscription from now on. If the client leaves, or has left before, the subscription ends.
    ///
    /// - Parameter opensAtOnce: whether the head is written before any event.
    func follow(_ subscription: ReplySubscription, opensAtOnce: Bool, until watch: RevocationWatch) {
        guard responder.isWaiting else {
            subscription.cancel()
            return
        }
        self.subscription = subscription
        registration = watch.begin { [self] error in
            self.subscription.take()?.cancel()
            fail(error)
        }
        // The responder releases this closure when the response ends. Weak references would slow down every token.
        responder.onClientGone = { [self] in
            registration.take()?.cancel()
            self.subscription.take()?.cancel()
            endOpening()
        }
        guard !opensAtOnce else {
            _ = open()
            return
        }
        let timer = DeadlineTimer(on: responder.shard) { [unowned self] in
            let stream = open()
            stream.write { encoder.keepAlive(to: &$0) }
        }
        timer.set(after: settings.keepAlive)
        opening?.timer = timer
    }

    /// Returns when the head of the response is written, or the client has left. A model server works, or the reply has ended.
    func waitUntilOpened() async {
        if presentsAnyEnding, subscription != nil { _ = open() }
        guard let opening, subscription != nil else { return }
        await withCheckedContinuation { opening.handler = $0 }
    }

    /// Resumes the handler. A head that is not written yet is never written.
    private func endOpening() {
        guard let opening else { return }
        head = .none
        opening.handler?.resume()
    }

    /// The response; its head is written first.
    private func open() -> ResponseStream {
        if let stream { return stream }
        let opening = opening
        opening?.timer = nil
        var fields = opening?.fields ?? Fields()
        if let facts = opening?.facts { fields.add(.serverTiming, ServerTiming(facts).value) }
        let stream = responder.stream(.ok, fields: fields.forStream(type(of: encoder).contentType))
        head = .written(stream)
        stream.onDrained = { [self] in
            guard isFull else { return }
            isFull = false
            subscription?.listenerIsReady()
        }
        stream.onSilence(after: settings.keepAlive) { [self] in
            self.stream?.write { encoder.keepAlive(to: &$0) }
        }
        writeIfAny { encoder.begin(to: &$0) }
        opening?.handler?.resume()
        return stream
    }

    /// Writes what `body` appends, if that is anything: an empty write would send the head, and would count as output that ends a silence.
    private func writeIfAny(_ body: (inout ByteBuffer) -> Void) {
        var bytes = ByteBuffer()
        body(&bytes)
        guard !bytes.isEmpty else { return }
        stream?.write { $0.append(bytes) }
    }

    func receive(_ lines: PositionedLines) -> Bool {
        let stream = open()
        hasContent = true
        stream.write { encoder.append(lines, to: &$0) }
        guard reserveHeld() else { return true }
        let unsent = stream.unsentCount
        if unsent <= Self.leastUnsent || unsent <= settings.unsentLimit && !settings.memory.isTightForOutput {
            return true
        }
        isFull = true
        stream.awaitDrain()
        return false
    }

    /// The size by which the reservation grows, in bytes.
    private static let step = 64 * 1_024
    /// The copies of what the encoder holds at the end: its own, and those in the last events.
    private static let copies = 5
    /// The reservation for what the encoder holds; `nil` while it holds nothing.
    private var held: MemoryReservation?

    /// Reserves memory for what the encoder holds. If that fails, the stream ends; the reply continues and is stored.
    private func reserveHeld() -> Bool {
        let size = encoder.heldSize
        guard size > (held?.count ?? 0) / Self.copies else { return true }
        let held = held ?? settings.memory.charge(0)
        self.held = held
        if held.grow(to: Self.copies * (size + Self.step), for: .output) { return true }
        subscription.take()?.cancel()
        fail(RelayError(.overloaded, "\(held.refusal) The answer is stored; read it at its Location."))
        return false
    }

    func isQueued(at position: QueuePosition) {
        // A reader that is full needs no queue position.
        guard !isFull else { return }
        writeIfAny { encoder.append(position, at: WallClock.nanoseconds(), to: &$0) }
    }

    func receive(_ changes: [StepChange]) {
        let stream = open()
        stream.write { buffer in
            for change in changes { encoder.append(change, to: &buffer) }
        }
        _ = reserveHeld()
    }

    func reset(to position: ReplyPosition) {
        var isTakenBack = false
        writeIfAny { isTakenBack = encoder.reset(to: position, at: WallClock.nanoseconds(), to: &$0) }
        guard !isTakenBack, hasContent else { return }
        // The reply itself continues, and can be read at its Location.
        subscription.take()?.cancel()
        fail(
            RelayError(
                .interrupted, "The answer was interrupted, and restarts. Ask again, or read it at its Location."))
    }

    func end(_ ending: ReplyEnding, at position: ReplyPosition) {
        if let error = ending.error {
            guard presentsAnyEnding, stream != nil || ending.state == .cancelled else {
                fail(error)
                return
            }
            responder.annotate(error)
        }
        let stream = open()
        stream.write { encoder.end(ending, at: position, to: &$0) }
        stream.finish()
        finish()
    }

    func fail(_ error: RelayError) {
        defer { finish() }
        guard let stream else {
            responder.refuse(responder.worded(error, model: model), fields: opening?.fields ?? Fields())
            return
        }
        responder.annotate(error)
        let error = responder.worded(error, model: model)
        stream.write { encoder.fail(error, at: WallClock.nanoseconds(), to: &$0) }
        stream.finish()
    }

    private func finish() {
        registration.take()?.cancel()
        subscription = nil
        endOpening()
    }
}

extension Fields {
    /// These fields and those of a stream. No proxy or cache may delay, change or keep it.
    func forStream(_ type: StreamType) -> Fields {
        var fields = self
        fields.add(.contentType, type.fieldValue)
        fields.add(.cacheControl, "no-cache, no-transform")
        fields.add(.xAccelBuffering, "no")
        return fields
    }
}

extension ReplyEnding {
    /// Why the answer is not complete; `nil` if it is.
    var error: RelayError? {
        switch state {
        case .complete: nil
        case .cancelled: cause ?? RelayError(.cancelled, "The reply was stopped.")
        case .failed, .interrupted: cause ?? Self.error(in: lastEvent.span)
        }
    }

    /// The error of an `error` event.
    private static func error(in data: Span<UInt8>) -> RelayError {
        var code = RelayError.Code.internal
        var message = "The answer broke off here."
        JSONMembers.forEach(of: data) { reader, key, value in
            let text = data.extracting(value)
            guard text[0] == UInt8(ascii: "\"") else { return }
            if reader.matches(key, "error") {
                message = String(decodingJSON: text.extracting(1..<text.count - 1))
            } else if reader.matches(key, "code") {
                let name = String(decodingJSON: text.extracting(1..<text.count - 1))
                code = RelayError.Code.all.first { $0.rawValue == name } ?? code
            }
        }
        return RelayError(code, message)
    }
}
