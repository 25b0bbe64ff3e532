import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdLanguageModels
import ChatterdRelay

/// Writes a reply as the events of a response: here a line of the model becomes bytes for the client. Confined to its shard.
final class EventStreamWriter: ReplyListener {
    /// Limit of unsent output for a slow client when memory is short, in bytes.
    static let leastUnsent = 32 * 1024

    private let stream: ResponseStream
    private let responder: Responder
    private let model: String
    /// Whether queue positions are written as events, besides the comments.
    private let showsQueue: Bool
    private let unsentLimit: Int
    private let memory: MemoryBudget
    private var isFull = false
    private var subscription: ReplySubscription?
    private var registration: RevocableResponses.Registration?

    init(
        _ stream: ResponseStream, responder: Responder, model: String, showsQueue: Bool, unsentLimit: Int,
        memory: MemoryBudget
    ) {
        self.stream = stream
        self.responder = responder
        self.model = model
        self.showsQueue = showsQueue
        self.unsentLimit = unsentLimit
        self.memory = memory
    }

    /// Writes the events of the subscription from now on. If the client leaves, or has left before, the subscription ends.
    func follow(_ subscription: ReplySubscription, keepAlive: Duration, until watch: RevocationWatch) {
        guard !stream.isClosed else {
            subscription.cancel()
            return
        }
        self.subscription = subscription
        registration = watch.begin { [self] in revoke($0) }
        // The stream releases these closures when it ends. Weak references would slow down every token.
        stream.onClientGone = { [self] in
            registration.take()?.cancel()
            self.subscription.take()?.cancel()
        }
        stream.onDrained = { [self] in
            guard isFull else { return }
            isFull = false
            self.subscription?.listenerIsReady()
        }
        stream.onSilence(after: keepAlive) { [stream] in
            // The clients of the course accept a comment only with a colon.
            stream.write { EventEncoder.append(comment: "keep-alive", to: &$0) }
        }
    }

    func receive(_ lines: PositionedLines) -> Bool {
        stream.write { append(lines, to: &$0) }
        let unsent = stream.unsentCount
        if unsent <= Self.leastUnsent || unsent <= unsentLimit && !memory.isTightForOutput { return true }
        isFull = true
        stream.awaitDrain()
        return false
    }

    /// Appends the events of lines, which are JSON objects without line ends.
    private func append(_ lines: PositionedLines, to buffer: inout ByteBuffer) {
        guard lines.end.isPlainNumber else {
            for index in 0..<lines.count {
                EventEncoder.append(data: lines.line(at: index), to: &buffer) {
                    lines.position(after: index).append(to: &$0)
                }
            }
            return
        }
        buffer.append(upTo: lines.size + lines.count * EventEncoder.lineOverhead) { output in
            for index in 0..<lines.count {
                EventEncoder.append(
                    id: lines.position(after: index).text, line: lines.line(at: index), to: &output)
            }
        }
    }

    func isQueued(at position: QueuePosition) {
        // A reader that is full needs no queue position.
        guard !isFull else { return }
        let comment = "queued, position \(position.position) of \(position.length)"
        stream.write { EventEncoder.append(comment: comment, to: &$0) }
        guard showsQueue else { return }
        var data = ByteBuffer()
        ReplyEvents(model: model).appendQueuePosition(
            position.position, of: position.length, at: WallClock.nanoseconds(), upstream: position.upstream, to: &data)
        // Without an id, because a client that comes back gets a new position.
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
        finish()
    }

    /// Ends the stream with an error event, because the credential of its request is revoked.
    private func revoke(_ error: RelayError) {
        subscription.take()?.cancel()
        fail(error)
    }

    private func finish() {
        registration.take()?.cancel()
        subscription = nil
        stream.finish()
    }

    /// Writes an error event without an id: the reply itself has not ended, and the client may come back for the rest.
    func fail(_ error: RelayError) {
        responder.annotate(error)
        let event = LastEvent(error, model: model)
        stream.write { EventEncoder.append(name: .error, data: event.data.span, to: &$0) }
        finish()
    }
}

extension ReplyPosition {
    /// Whether the text form is only the number of text bytes, as in nearly every event.
    @inline(__always)
    fileprivate var isPlainNumber: Bool { attempt == 1 && thinking == 0 && toolCalls == 0 && !isEnd }
}
