import Bytes
import HTTP
import HTTPServer
import Sockets
import TestSupport

/// A server on a port of its own, whose exchanges are recorded.
final class TestServer: Sendable {
    let server: Server
    let port: Int
    let shards: [Shard]
    private let log: Lock<[ExchangeRecord]>

    /// Shards live as long as the process. Each server has its own, so that tests of time limits are not held up by others.
    private static let allShards = Lock<[Shard]>([])

    init(shards count: Int = 1, limits: Limits = Limits(), _ route: (inout Router) -> Void) throws {
        let log = Lock<[ExchangeRecord]>([])
        var router = Router()
        route(&router)
        var environment = Environment()
        environment.wallClock = { 784_111_777 }
        environment.seed = { 7 }
        environment.onExchangeEnd = { record in log.withLock { $0.append(record) } }
        let shards = try Shard.makeAll(count: count)
        Self.allShards.withLock { $0 += shards }
        self.shards = shards
        server = Server(shards: shards, limits: limits, router: router, environment: environment)
        guard let loopback = SocketAddress(numericHost: "127.0.0.1", port: 0) else {
            throw TestFailure("no loopback address")
        }
        port = Int(try server.listen(on: loopback).port)
        self.log = log
    }

    /// The exchanges that have ended.
    var records: [ExchangeRecord] { log.withLock { $0 } }

    /// The records, once there are as many.
    func records(_ count: Int) throws -> [ExchangeRecord] {
        try eventually("\(count) exchanges end") {
            let records = self.records
            return records.count >= count ? records : nil
        }
    }

    /// Sends bytes, ends the direction, and reads all that comes back.
    func answer(to text: String) throws -> (text: String, end: BodyEnd) {
        let client = try RawClient(port: port)
        defer { client.close() }
        client.send(text)
        client.halfClose()
        let (bytes, end) = client.readToEnd()
        return (String(decoding: bytes, as: UTF8.self), end)
    }
}

extension Router {
    /// GET / says hello, POST /echo gives the body back, GET /stream sends three pieces.
    mutating func addUsualRoutes() {
        on(.get, "/") { _, responder in
            responder.respond(.ok, fields: [.contentType: "text/plain"], body: Array("hello".utf8))
        }
        on(.post, "/echo") { request, responder in
            responder.respond(.ok, body: request.body)
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
