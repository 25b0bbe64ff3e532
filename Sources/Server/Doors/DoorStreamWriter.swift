import ChatterdBasics
import ChatterdDoors
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdRelay
import ChatterdSockets

/// Writes a reply as the stream of a door. Confined to its shard.
///
/// The head of the response waits for the first piece of the answer, so that an error before it has a status, as from the original server;
/// but not longer than the interval of the keep-alives. It does not wait if the door presents errors in its streams as well.
final class DoorStreamWriter: ReplyListener {
    private let responder: Responder
    private var encoder: any AnswerEncoder
    private let model: String
    /// `Location`, and the quota of the principal.
    private let fields: Fields
    private let keepAlive: Duration
    private let unsentLimit: Int
    private let memory: MemoryBudget
    /// The reservation for what the encoder holds.
    private let held: MemoryReservation
    /// The response, once its head is written.
    private var stream: ResponseStream?
    /// Writes the head if no piece of the answer comes in time.
    private var headTimer: DeadlineTimer?
    /// Whether the client has a piece of the answer, from this stream or an earlier one. It cannot be taken back.
    private var hasContent: Bool
    private var isFull = false
    private var subscription: ReplySubscription?
    private var registration: RevocableResponses.Registration?
    /// The handler, which waits for the head of the response.
    private var opened: CheckedContinuation<Void, Never>?

    init(
        _ responder: Responder, _ encoder: any AnswerEncoder, model: String, hasContent: Bool, fields: Fields,
        keepAlive: Duration, unsentLimit: Int, memory: MemoryBudget
    ) {
        self.responder = responder
        self.encoder = encoder
        self.model = model
        self.hasContent = hasContent
        self.fields = fields
        self.keepAlive = keepAlive
        self.unsentLimit = unsentLimit
        self.memory = memory
        held = memory.charge(0)
    }

    /// Writes the subscription from now on. If the client leaves, or has left before, the subscription ends.
    func follow(_ subscription: ReplySubscription, until watch: RevocationWatch) {
        guard responder.isWaiting else {
            subscription.cancel()
            return
        }
        self.subscription = subscription
        registration = watch.begin { [self] error in
            self.subscription.take()?.cancel()
            fail(error)
        }
        // The responder releases this closure when the response ends.
        responder.onClientGone = { [self] in
            headTimer = nil
            registration.take()?.cancel()
            self.subscription.take()?.cancel()
            opened.take()?.resume()
        }
        guard !type(of: encoder).presentsAnyEnding else {
            _ = open()
            return
        }
        headTimer = DeadlineTimer(on: responder.shard) { [unowned self] in
            let stream = open()
            stream.write { encoder.keepAlive(to: &$0) }
        }
        headTimer?.set(after: keepAlive)
    }

    /// Returns when the head of the response is written, or the client has left.
    func waitUntilOpened() async {
        guard stream == nil, subscription != nil else { return }
        await withCheckedContinuation { opened = $0 }
    }

    /// The response; its head is written first.
    private func open() -> ResponseStream {
        if let stream { return stream }
        headTimer = nil
        var fields = fields
        if let type = FieldValue(validating: type(of: encoder).contentType.rawValue) { fields.add(.contentType, type) }
        fields.add(.cacheControl, "no-cache, no-transform")
        fields.add(.xAccelBuffering, "no")
        let stream = responder.stream(.ok, fields: fields)
        self.stream = stream
        stream.onDrained = { [self] in
            guard isFull else { return }
            isFull = false
            subscription?.listenerIsReady()
        }
        stream.onSilence(after: keepAlive) { [self, unowned stream] in
            stream.write { encoder.keepAlive(to: &$0) }
        }
        stream.write { encoder.begin(to: &$0) }
        opened.take()?.resume()
        return stream
    }

    func receive(_ lines: PositionedLines) -> Bool {
        let stream = open()
        hasContent = true
        stream.write { encoder.append(lines, to: &$0) }
        guard reserveHeld() else { return true }
        let unsent = stream.unsentCount
        if unsent <= EventStreamWriter.leastUnsent || unsent <= unsentLimit && !memory.isTightForOutput { return true }
        isFull = true
        stream.awaitDrain()
        return false
    }

    /// The size by which the reservation grows, in bytes.
    private static let step = 64 * 1_024
    /// The copies of what the encoder holds at the end: its own, and those in the last events.
    private static let copies = 5
    private var reserved = 0

    /// Reserves memory for what the encoder holds. If that fails, the stream ends; the reply continues and is stored.
    private func reserveHeld() -> Bool {
        guard encoder.heldSize > reserved else { return true }
        reserved = encoder.heldSize + Self.step
        if held.grow(to: Self.copies * reserved, for: .output) { return true }
        subscription.take()?.cancel()
        fail(RelayError(.overloaded, "\(held.refusal) The answer is stored; read it at its Location."))
        return false
    }

    /// No door has a form for queue positions.
    func isQueued(at position: QueuePosition) {}

    func reset(to position: ReplyPosition) {
        guard hasContent else { return }
        // No door has a form to take text back. The reply itself continues, and can be read at its Location.
        subscription.take()?.cancel()
        fail(
            RelayError(
                .interrupted, "The answer was interrupted, and restarts. Ask again, or read it at its Location."))
    }

    func end(_ ending: ReplyEnding, at position: ReplyPosition) {
        if let error = ending.doorError {
            guard type(of: encoder).presentsAnyEnding else {
                fail(error)
                return
            }
            responder.annotate(error)
        }
        let stream = open()
        stream.write { encoder.end(ending.lastEvent.span, to: &$0) }
        stream.finish()
        finish()
    }

    func fail(_ error: RelayError) {
        defer { finish() }
        guard let stream else {
            responder.refuse(responder.worded(error, model: model), fields: fields)
            return
        }
        responder.annotate(error)
        let fault = DoorFault(responder.worded(error, model: model))
        stream.write { encoder.fail(fault, to: &$0) }
        stream.finish()
    }

    private func finish() {
        headTimer = nil
        registration.take()?.cancel()
        subscription = nil
        opened.take()?.resume()
    }
}

extension ReplyEnding {
    /// The error that a client of a door gets for the ending. A stopped answer is none that a door may present as complete.
    var doorError: RelayError? {
        if state == .cancelled { return cause ?? RelayError(.cancelled, "The reply was stopped.") }
        return LastEvent(of: self).error
    }
}
