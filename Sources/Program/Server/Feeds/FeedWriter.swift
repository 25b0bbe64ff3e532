import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdRelay

/// Writes a feed as the events of a response. Confined to its shard.
final class FeedWriter {
    /// The limits of the output.
    struct Limits: Sendable {
        /// Unsent bytes at which the feed waits for its reader.
        var unsent: Int
        /// The silence after which a comment is sent.
        var keepAlive: Duration
    }

    /// Limit of unsent output for a slow client when memory is short, in bytes.
    private static let leastUnsent = 32 * 1024
    /// The time after which a client connects again, in milliseconds.
    private static let reconnection: UInt = 1000

    let stream: ResponseStream
    private let responder: Responder
    private let limits: Limits
    private let memory: MemoryBudget

    init(_ stream: ResponseStream, responder: Responder, limits: Limits, memory: MemoryBudget) {
        self.stream = stream
        self.responder = responder
        self.limits = limits
        self.memory = memory
    }

    /// Begins the stream.
    func begin() {
        stream.write { EventEncoder.append(retry: Self.reconnection, to: &$0) }
        stream.onSilence(after: limits.keepAlive) { [stream] in
            stream.write { EventEncoder.append(comment: "keep-alive", to: &$0) }
        }
    }

    /// Whether the reader must receive more before the next event is written.
    var isFull: Bool {
        let unsent = stream.unsentCount
        return unsent > Self.leastUnsent && (unsent > limits.unsent || memory.isTightForOutput)
    }

    func write(_ event: FeedEvent) {
        let (data, id) = (event.data, event.position.text)
        stream.write { buffer in
            EventEncoder.append(name: event.change.name, data: data.bytes, to: &buffer) { $0.append(utf8: id) }
        }
    }

    /// Writes the state with which the reader begins, or begins again for a reason.
    func write(_ state: FeedState, _ reason: FeedStep.Reason?) {
        let (data, id) = (state.data(reason), state.position.text)
        stream.write { buffer in
            EventEncoder.append(name: reason == nil ? .conversation : .reset, data: data.bytes, to: &buffer) {
                $0.append(utf8: id)
            }
        }
    }

    /// Ends the stream, because the conversation is deleted.
    func end() {
        var data = ByteBuffer()
        data.append("{}")
        stream.write { EventEncoder.append(name: .deleted, data: data.bytes, to: &$0) }
        stream.finish()
    }

    /// Ends the stream with an error event without an id: the reader may continue at its position.
    func fail(_ error: RelayError) {
        responder.annotate(error)
        var data = ByteBuffer()
        data.appendJSON { json in
            json.object { json in
                json.member("error", error.message)
                json.member("code", error.code.rawValue)
                json.member("retryable", error.code.isRetryable)
            }
        }
        stream.write { EventEncoder.append(name: .error, data: data.bytes, to: &$0) }
        stream.finish()
    }
}

extension FeedEvent.Change {
    /// The name of the event.
    fileprivate var name: EventName {
        switch self {
        case .prompt: .prompt
        case .reply: .reply
        case .end: .end
        case .choice: .choice
        case .settings: .settings
        }
    }
}
