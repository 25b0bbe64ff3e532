import ChatterdBasics
import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdMetrics
import ChatterdRelay
import ChatterdSockets

/// The listener of `GET /metrics`. It has an event loop of its own, which makes the page: the others only hand out copies of their counts.
final class MetricsServer: Sendable {
    /// The maximum number of connections.
    static let connections = 64
    /// The path of the page.
    static let path = "/metrics"

    private let server: Server

    /// Makes the server. It does not listen yet.
    ///
    /// - Parameter hosts: the host names that clients may use, as for the other listeners.
    init(_ collector: MetricsCollector, on shard: Shard, hosts: BrowserPolicy, memory: MemoryBudget) {
        var limits = Limits()
        limits.connections = Self.connections
        var router = Router()
        router.on(.get, Self.path) { request, responder in
            await Self.answer(request, responder, from: collector)
        }
        server = Server(
            shards: [shard], limits: limits, router: router, policy: BrowserPolicy(hosts: hosts.hosts), memory: memory)
    }

    /// Listens on the first address of the target.
    ///
    /// - Returns: the address, with the port that the system chose.
    func listen(on target: HostAndPort) async throws(SocketError) -> SocketAddress? {
        guard let address = try await Resolver.resolve(target).first else { return nil }
        return try server.listen(on: address)
    }

    /// Cuts off all connections, and stops listening.
    func shutDown() async {
        await server.shutDown(within: .zero)
    }

    private static func answer(_ request: Request, _ responder: Responder, from collector: MetricsCollector) async {
        let counts: MetricCounts
        do throws(TimeoutError) {
            counts = try await collector.collect(on: request.shard)
        } catch {
            responder.refuse(
                RelayError(.overloaded, "An event loop has not answered within \(MetricsCollector.timeout)."))
            return
        }
        let format = MetricsFormat(for: request.fields)
        var body = ByteBuffer()
        body.append(counts, as: format)
        var fields: Fields = [.cacheControl: "no-store"]
        if let type = FieldValue(validating: format.mediaType) { fields.set(.contentType, type) }
        responder.respond(.ok, fields: fields, body: body)
    }
}

extension MetricsFormat {
    /// The format that a client prefers (RFC 9110 12.5.1): OpenMetrics if the client names it, and nothing else with a greater weight.
    init(for fields: Fields) {
        var best = (weight: 0.0, format: MetricsFormat.prometheus)
        for element in fields.elements(of: .accept) {
            let parts = element.utf8.split(separator: UInt8(ascii: ";")).map {
                String(decoding: $0.filter { $0 != UInt8(ascii: " ") }, as: UTF8.self).lowercased()
            }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
            guard weight > best.weight else { continue }
            switch parts.first {
            case "application/openmetrics-text": best = (weight, .openMetrics)
            case "text/plain", "text/*", "*/*": best = (weight, .prometheus)
            default: break
            }
        }
        self = best.format
    }
}
