import ChatterdBasics
import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdJSONLog
import ChatterdLanguageModels
import ChatterdModelServers
import ChatterdPostgresStore
import ChatterdRelay

/// Turns a reply into the events of a response: this is where a line of the model becomes bytes for the client.
///
/// Confined to its shard.
final class EventStreamReader: ReplyReader {
    /// Limit of unsent output for a slow client when memory is short, in bytes.
    private static let leastUnsent = 32 * 1024

    private let stream: ResponseStream
    private let responder: Responder
    private let model: String
    /// Whether places in a queue are told as events, too.
    private let tellsQueue: Bool
    private let unsentLimit: Int
    private let memory: MemoryBudget
    private var isFull = false
    private var subscription: ReplySubscription?

    init(
        _ stream: ResponseStream, responder: Responder, model: String, tellsQueue: Bool, unsentLimit: Int,
        memory: MemoryBudget
    ) {
        self.stream = stream
        self.responder = responder
        self.model = model
        self.tellsQueue = tellsQueue
        self.unsentLimit = unsentLimit
        self.memory = memory
    }

    /// Reads on; a client that leaves is reported, even if it has left before.
    func follow(_ subscription: ReplySubscription, keepAlive: Duration) {
        guard !stream.isClosed else {
            subscription.readerLeft()
            return
        }
        self.subscription = subscription
        // The stream lets go of these when it ends. No weak references: they would slow down every token.
        stream.onClientGone = { [self] in self.subscription.take()?.readerLeft() }
        stream.onDrained = { [self] in
            guard isFull else { return }
            isFull = false
            self.subscription?.readerCanTakeMore()
        }
        stream.onSilence(after: keepAlive) { [stream] in
            // A comment with a colon: the course's clients take any other line for a fault.
            stream.write { EventEncoder.append(comment: "keep-alive", to: &$0) }
        }
    }

    func read(line: Span<UInt8>, to position: ReplyPosition) -> Bool {
        // A JSON object that a reply hands on holds no line end.
        if position.isPlainNumber {
            stream.write { EventEncoder.append(id: position.text, line: line, to: &$0) }
        } else {
            stream.write { EventEncoder.append(data: line, to: &$0) { position.append(to: &$0) } }
        }
        let unsent = stream.unsentCount
        if unsent <= Self.leastUnsent || unsent <= unsentLimit && !memory.isTight { return true }
        isFull = true
        stream.awaitDrain()
        return false
    }

    func wait(at place: QueuePlace) {
        // Somebody who takes nothing need not know.
        guard !isFull else { return }
        let comment = "queued, position \(place.position) of \(place.length)"
        stream.write { EventEncoder.append(comment: comment, to: &$0) }
        guard tellsQueue else { return }
        var data = ByteBuffer()
        ReplyEvents(model: model).appendQueuePosition(
            place.position, of: place.length, at: WallClock.nanoseconds(), upstream: place.upstream, to: &data)
        // Without an id: a client that comes back is told anew.
        stream.write { EventEncoder.append(name: .queue, data: data.bytes, to: &$0) }
    }

    func reset(to position: ReplyPosition) {
        var data = ByteBuffer()
        ReplyEvents(model: model).appendReset(attempt: position.attempt, at: WallClock.nanoseconds(), to: &data)
        stream.write { EventEncoder.append(name: .reset, data: data.bytes, to: &$0) { position.append(to: &$0) } }
    }

    func end(_ ending: ReplyEnding, at position: ReplyPosition) {
        let event = LastEvent(of: ending)
        if let error = event.error {
            responder.annotate(error)
        }
        var position = position
        position.isEnd = true
        stream.write { buffer in
            EventEncoder.append(name: event.error == nil ? nil : .error, data: event.data.span, to: &buffer) {
                position.append(to: &$0)
            }
        }
        subscription = nil
        stream.finish()
    }

    /// Without an id, because the reply itself is not over: the client may come back for the rest.
    func fail(_ error: RelayError) {
        responder.annotate(error)
        let event = LastEvent(error, model: model)
        stream.write { EventEncoder.append(name: .error, data: event.data.span, to: &$0) }
        subscription = nil
        stream.finish()
    }
}

extension ReplyPosition {
    /// Whether its text form is nothing but the bytes of text: that of nearly every event.
    @inline(__always)
    fileprivate var isPlainNumber: Bool { attempt == 1 && thinking == 0 && toolCalls == 0 && !isEnd }
}
