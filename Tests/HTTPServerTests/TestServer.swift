import ChatterdBasics
import ChatterdHTTP
import ChatterdSockets
import ChatterdTestSupport

@testable import ChatterdHTTPServer

/// A server on its own port, with a record of its exchanges.
final class TestServer: Sendable {
    let server: Server
    let port: Int
    let shards: [Shard]
    private let log: Lock<[ExchangeRecord]>
    private let reserved: BoundPort?

    /// Listens on a port of 127.0.0.1, that of `port` or a free one.
    init(
        shards count: Int = 1, limits: Limits = .longTimeouts, policy: BrowserPolicy = BrowserPolicy(),
        at port: BoundPort? = nil, memory: MemoryBudget = MemoryBudget(limit: 1 << 30),
        bodyAccount: (@Sendable (RequestHead, Shard) -> MemoryAccount?)? = nil,
        _ route: (inout Router) -> Void
    ) throws {
        reserved = port
        let log = Lock<[ExchangeRecord]>([])
        var router = Router()
        route(&router)
        var hooks = ServerHooks()
        hooks.wallClock = { 784_111_777 }
        hooks.seed = { 7 }
        if let bodyAccount { hooks.bodyAccount = bodyAccount }
        hooks.onExchangeEnd = { record in log.withLock { $0.append(record) } }
        let shards = try Shard.makeAll(count: count)
        self.shards = shards
        server = Server(
            shards: shards, limits: limits, router: router, policy: policy, hooks: hooks, memory: memory)
        guard let loopback = SocketAddress(numericHost: "127.0.0.1", port: UInt16(port?.port ?? 0)) else {
            throw TestFailure("no loopback address")
        }
        self.port = Int(try server.listen(on: loopback).port)
        self.log = log
    }

    deinit {
        // The listeners keep the shards until they are closed.
        Task { [server] in await server.shutDown(within: .zero) }
    }

    /// The number of connections.
    var connectionCount: Int { server.load.total }

    /// Runs a block while all shards are blocked. Its bytes have arrived before the server reads them, at any clock.
    func whileHeld<Result>(_ body: () throws -> Result) rethrows -> Result {
        let gates = shards.map { shard in
            let (reached, gate) = (Gate(), Gate())
            shard.run {
                reached.open()
                gate.wait(upTo: 600)
            }
            reached.wait()
            return gate
        }
        defer { for gate in gates { gate.open() } }
        return try body()
    }

    /// The exchanges that have ended.
    var records: [ExchangeRecord] { log.withLock { $0 } }

    /// Waits for `count` records and returns them.
    func records(_ count: Int) throws -> [ExchangeRecord] {
        try eventually("\(count) exchanges end") {
            let records = self.records
            return records.count >= count ? records : nil
        }
    }

    /// Sends bytes, ends the direction, and reads the whole response.
    func answer(to text: String) throws -> (text: String, end: BodyEnd) {
        let client = try RawClient(port: port)
        defer { client.close() }
        client.send(text)
        client.halfClose()
        let (bytes, end) = client.readToEnd()
        return (String(decoding: bytes, as: UTF8.self), end)
    }
}

extension Limits {
    /// The defaults with timeouts for a busy machine; a test sets the limit that it tests.
    static var longTimeouts: Limits {
        var limits = Limits()
        limits.headDeadline = .seconds(600)
        limits.bodyDeadline = .seconds(600)
        limits.idle = .seconds(600)
        limits.writeStall = .seconds(600)
        limits.lingering = .seconds(600)
        return limits
    }
}

extension Router {
    /// GET / says hello, POST /echo gives the body back, GET /stream sends three pieces.
    mutating func addUsualRoutes() {
        on(.get, "/") { _, responder in
            responder.respond(.ok, fields: [.contentType: "text/plain"], body: Array("hello".utf8))
        }
        on(.post, "/echo") { request, responder in
            responder.respond(.ok, body: request.body.bytes)
        }
        on(.get, "/stream") { _, responder in
            let stream = responder.stream(.ok, fields: [.contentType: "text/plain"])
            for piece in ["one ", "two ", "three"] {
                stream.write { $0.append(utf8: piece) }
                await Task.yield()
            }
            stream.finish()
        }
    }
}
