import ChatterdBasics
import ChatterdHTTP
import ChatterdSockets

/// One request and its response. Confined to its shard.
///
/// It keeps its delegate alive until the end or `cancel`.
public final class Exchange: @unchecked Sendable {
    /// Where the exchange stands.
    private enum State {
        /// A connection is being made.
        case dialing(Dial)
        /// The request is written to a connection; the response is awaited or comes in.
        case running(ClientConnection)
        /// Nothing more will happen.
        case over
    }

    /// Kept apart, as a stream of an hour has no use for the room.
    private final class Request {
        let head: RequestHead
        let body: ByteBuffer

        init(head: RequestHead, body: ByteBuffer) {
            self.head = head
            self.body = body
        }
    }

    /// The origin that the request goes to.
    public var origin: Origin { pool.origin }

    let method: Method
    let pool: OriginPool
    private(set) var delegate: (any ExchangeDelegate)?
    /// Kept only while it may have to be sent, or sent again; nothing when it cannot be sent.
    private var request: Request?
    private var state = State.over
    private(set) var isPaused = false

    init(_ request: OutgoingRequest, head: RequestHead?, pool: OriginPool, delegate: any ExchangeDelegate) {
        method = request.method
        self.request = head.map { Request(head: $0, body: request.body) }
        self.pool = pool
        self.delegate = delegate
    }

    /// Whether the response is complete, has failed or is not wanted any more.
    public var isOver: Bool { delegate == nil }

    /// Gives the response up: closes the connection, so that the server stops; the delegate hears nothing more.
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

    /// Stops reading; what has been read already still comes, and then the server is held back.
    public func pause() {
        isPaused = true
        if case .running(let connection) = state {
            connection.stream.pauseReading()
        }
    }

    /// Goes on reading.
    public func resume() {
        isPaused = false
        if case .running(let connection) = state {
            connection.stream.resumeReading()
        }
    }

    // MARK: - Called by the pool, the dial and the connection

    /// Begins on an idle connection, or on a new one.
    func start() {
        guard request != nil else {
            failLater(HTTPClientError(.invalidURL, "the path or a field of a request to \(origin) is malformed"))
            return
        }
        if let connection = pool.takeIdle() {
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

    /// Sends the request again: an idle connection turned out to be closed.
    func retry() {
        dial()
    }

    private func dial() {
        let dial = Dial(for: self)
        state = .dialing(dial)
        dial.start()
    }

    /// The response has begun, or the connection is new: the request will not be sent again.
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

    /// Fails when the caller has returned, so that the delegate never hears anything from within `start`.
    func failLater(_ error: HTTPClientError) {
        pool.shard.run { [self] in
            fail(error)
        }
    }

    private func end() {
        state = .over
        delegate = nil
        forgetRequest()
    }
}
