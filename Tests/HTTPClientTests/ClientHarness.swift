import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdSockets
import ChatterdTestSupport
import Dispatch

/// A client on a shard that all tests share, called from test threads.
final class ClientHarness: Sendable {
    static let shard: Shard = {
        do {
            return try Shard(index: 0)
        } catch {
            preconditionFailure("no shard: \(error)")
        }
    }()

    let client: Confined<HTTPClient>

    init(_ limits: HTTPClientLimits = .longTimeouts, tls: TLSContext? = nil) {
        client = Confined(HTTPClient(shard: Self.shard, limits: limits, tls: tls), to: Self.shard)
    }

    /// Runs a block on the shard and waits for it.
    @discardableResult
    static func onShard<Result: Sendable>(_ body: @escaping @Sendable () -> Result) -> Result {
        let box = Monitor<Result?>(nil)
        shard.run {
            let result = body()
            box.withLock { $0 = result }
        }
        guard let result = box.wait(upTo: 600, until: { $0 }) else { preconditionFailure("the shard hangs") }
        return result
    }

    /// Starts an exchange with a recorder. `meanwhile` runs before the request is sent.
    func start(
        _ request: OutgoingRequest = .ask, to url: String, _ recorder: Recorder = Recorder(),
        meanwhile: @escaping @Sendable () -> Void = {}
    ) throws -> Recorder {
        let origin = try Origin(parsing: url)
        Self.onShard { [client] in
            recorder.exchange = client.value.start(request, to: origin, delegate: recorder)
            meanwhile()
        }
        return recorder
    }

    /// Runs an exchange to its end.
    func ask(_ request: OutgoingRequest = .ask, of url: String) throws -> Recording {
        try start(request, to: url).outcome()
    }
}

extension HTTPClientLimits {
    /// The defaults with timeouts for a busy machine.
    static var longTimeouts: HTTPClientLimits {
        var limits = HTTPClientLimits()
        limits.connect = .seconds(600)
        limits.idleTime = .seconds(600)
        return limits
    }
}

extension OutgoingRequest {
    /// A prompt.
    static let ask = OutgoingRequest(.post, "/api/chat", body: Array("{}".utf8))
}

/// The outcome of an exchange.
struct Recording: Sendable {
    var head: ResponseHead?
    var body: [UInt8] = []
    var pieces = 0
    var ends = 0
    var errors: [HTTPClientError] = []

    var text: String { String(decoding: body, as: UTF8.self) }
    var isOver: Bool { ends + errors.count > 0 }
}

/// Records the events of an exchange.
final class Recorder: ExchangeDelegate, @unchecked Sendable {
    let state = Monitor(Recording())
    /// Set by the test before anything is awaited; used on the shard.
    var exchange: Exchange?
    /// Called on the shard with each piece of the body.
    private let onBody: (@Sendable (Exchange) -> Void)?

    init(onBody: (@Sendable (Exchange) -> Void)? = nil) {
        self.onBody = onBody
    }

    func exchange(_ exchange: Exchange, received head: ResponseHead) {
        state.withLock { $0.head = head }
    }

    func exchange(_ exchange: Exchange, received body: Span<UInt8>) {
        let bytes = body.array
        state.withLock {
            $0.body += bytes
            $0.pieces += 1
        }
        onBody?(exchange)
    }

    func exchangeEnded(_ exchange: Exchange) {
        state.withLock { $0.ends += 1 }
    }

    func exchange(_ exchange: Exchange, failed error: HTTPClientError) {
        state.withLock { $0.errors.append(error) }
    }

    /// Waits for the end and for the present work of the shard, so that a second end would be recorded.
    func outcome() throws -> Recording {
        try wait("the exchange ended") { $0.isOver }
        ClientHarness.onShard {}
        return state.withLock { $0 }
    }

    /// Waits until the recording fulfils a condition.
    func wait(_ what: String, until condition: (Recording) -> Bool) throws {
        guard state.wait(until: { condition($0) ? true : nil }) != nil else {
            throw TestFailure("timeout: \(what); got \(state.withLock { $0 })")
        }
    }

    func cancel() {
        ClientHarness.onShard { self.exchange?.cancel() }
    }
}
