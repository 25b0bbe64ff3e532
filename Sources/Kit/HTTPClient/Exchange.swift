import ChatterdBasics
import ChatterdHTTP
import ChatterdSockets

/// One request and its response. Confined to its shard.
///
/// It retains its delegate until the end or `cancel`.
public final class Exchange {
    /// The progress of the exchange.
    private enum State {
        /// A connection is being established.
        case dialing(Dial)
        /// The request is written to a connection, and its response arrives.
        case running(ClientConnection)
        /// The exchange is over.
        case over
    }

    /// A class, so that a long response needs no memory for the request.
    private final class Request {
        let head: RequestHead
        let body: OutgoingBody

        init(head: RequestHead, body: OutgoingBody) {
            self.head = head
            self.body = body
        }
    }

    /// The origin that the request goes to.
    public var origin: Origin { pool.origin }

    let method: Method
    let pool: OriginPool
    private(set) var delegate: (any ExchangeDelegate)?
    /// Kept while it may have to be sent or sent again; `nil` also for a malformed request.
    private var request: Request?
    private var state = State.over
    private(set) var isPaused = false

    init(_ request: OutgoingRequest, head: RequestHead?, pool: OriginPool, delegate: any ExchangeDelegate) {
        method = request.method
        self.request = head.map { Request(head: $0, body: request.body) }
        self.pool = pool
        self.delegate = delegate
    }

    /// Whether the response is complete, has failed or was cancelled.
    public var isOver: Bool { delegate == nil }

    /// Cancels the exchange and closes its connection, so that the server stops. The delegate gets no further call.
    public func cancel() {
        delegate = nil
        let last = state
        end()
        switch last {
        case .dialing(let dial): dial.cancel()
        case .running(let connection): connection.close()
        case .over: break
        }
    }

    /// Stops reading. Bytes that have been read already are still delivered; then the server cannot send more.
    public func pause() {
        isPaused = true
        if case .running(let connection) = state {
            connection.stream.pauseReading()
        }
    }

    /// Starts reading again.
    public func resume() {
        isPaused = false
        if case .running(let connection) = state {
            connection.stream.resumeReading()
        }
    }

    /// Delivers the bytes that have arrived and wait for their turn, if any. A deadline calls this before it reports that the server is
    /// silent.
    public func readWaitingBytes() {
        if case .running(let connection) = state {
            connection.stream.readWaitingBytes()
        }
    }

    // MARK: - Called by the pool, the dial and the connection

    /// Sends the request on an idle connection, or on a new one.
    func start() {
        guard request != nil else {
            failLater(HTTPClientError(.invalidURL, "the path or a field of a request to \(origin) is malformed"))
            return
        }
        if let connection = pool.acquireIdle() {
            run(on: connection)
        } else {
            dial()
        }
    }

    /// Sends the request on a connection.
    func run(on connection: ClientConnection) {
        guard let request else { return }
        state = .running(connection)
        connection.begin(self, head: request.head, body: request.body)
        if isPaused {
            connection.stream.pauseReading()
        }
        if !connection.isReused {
            forgetRequest()
        }
    }

    /// Sends the request again, after an idle connection turned out to be closed.
    func retry() {
        dial()
    }

    private func dial() {
        let dial = Dial(for: self)
        state = .dialing(dial)
        dial.start()
    }

    /// Releases the request. It will not be sent again, because the response has begun or the connection is new.
    func forgetRequest() {
        request = nil
    }

    func finish() {
        let delegate = delegate
        end()
        delegate?.exchangeEnded(self)
    }

    func fail(_ error: HTTPClientError) {
        let delegate = delegate
        end()
        delegate?.exchange(self, failed: error)
    }

    /// Fails after the caller has returned, so that the delegate gets no call within `start`.
    func failLater(_ error: HTTPClientError) {
        let exchange = Confined(self, to: pool.shard)
        pool.shard.run { exchange.value.fail(error) }
    }

    private func end() {
        state = .over
        delegate = nil
        forgetRequest()
    }
}

/// Receives a response. All calls arrive on the shard of the exchange, and none within `start`.
///
/// Exactly one of `exchangeEnded` and `failed` is called, once and last. No call follows `cancel`.
public protocol ExchangeDelegate: AnyObject {
    /// The head of the final response arrived, with any status. The client follows no redirection.
    func exchange(_ exchange: Exchange, received head: ResponseHead)
    /// Decoded bytes of the body arrived. They are lent for the duration of the call.
    func exchange(_ exchange: Exchange, received body: Span<UInt8>)
    /// The body is complete.
    func exchangeEnded(_ exchange: Exchange)
    /// The response will not be complete.
    func exchange(_ exchange: Exchange, failed error: HTTPClientError)
}
