import ChatterdBasics
import ChatterdHTTP
import ChatterdSockets

/// Sends requests and hands responses on as they come in: HTTP/1.1 on one shard. Confined to its shard.
///
/// A connection whose response is complete serves the next request to the same origin. There is no limit on the number of
/// exchanges here: whoever starts them counts them. A client costs little until it is used, so that each of many servers can
/// have its own, with its own limits and authorities.
public final class HTTPClient: @unchecked Sendable {
    private let shard: Shard
    private let limits: HTTPClientLimits
    private var tls: TLSContext?
    private var pools: [Origin: OriginPool] = [:]

    /// Makes a client; may be called anywhere.
    ///
    /// A context is needed for https only; clients may share one. Without it that of the system's authorities is taken.
    public init(shard: Shard, limits: HTTPClientLimits = HTTPClientLimits(), tls: TLSContext? = nil) {
        self.shard = shard
        self.limits = limits
        self.tls = tls
    }

    /// Sends a request; its response, or its failure, comes to the delegate after this call has returned.
    public func start(
        _ request: OutgoingRequest, to origin: Origin, delegate: any ExchangeDelegate
    ) -> Exchange {
        shard.preconditionCurrent()
        let pool = pool(of: origin)
        let exchange = Exchange(request, head: Self.head(of: request, to: origin), pool: pool, delegate: delegate)
        do throws(SocketError) {
            if origin.scheme == .https, pool.tls == nil {
                pool.tls = try tlsContext()
            }
            exchange.start()
        } catch {
            exchange.failLater(HTTPClientError(.tls, error.message))
        }
        return exchange
    }

    deinit {
        // A pool and its idle connections hold each other; and who lets go of the client may be on any thread.
        guard !pools.isEmpty else { return }
        let pools = pools.values
        shard.run {
            for pool in pools {
                pool.retire()
            }
        }
    }

    /// Closes the idle connections; exchanges go on.
    public func closeIdle() {
        for pool in pools.values {
            pool.closeIdle()
        }
    }

    private func tlsContext() throws(SocketError) -> TLSContext {
        if let tls {
            return tls
        }
        let context = try TLSContext.system()
        tls = context
        return context
    }

    private func pool(of origin: Origin) -> OriginPool {
        if let pool = pools[origin] {
            return pool
        }
        let pool = OriginPool(origin: origin, shard: shard, limits: limits)
        pools[origin] = pool
        return pool
    }

    /// The head as it is sent, or nothing when the path is not one.
    private static func head(of request: OutgoingRequest, to origin: Origin) -> RequestHead? {
        guard request.path.hasPrefix("/"), let host = FieldValue(validating: origin.authority) else { return nil }
        let target: Target
        do throws(HTTPError) {
            target = try Target(origin.basePath + request.path, for: request.method)
        } catch {
            return nil
        }
        var fields: Fields = [.host: host]
        fields.reserveCapacity(request.fields.count + 2)
        for field in request.fields where !isOwn(field.name) {
            guard let value = FieldValue(validating: field.value) else { return nil }
            fields.add(field.name, value)
        }
        // RFC 9110 8.6: a length even of no body, where the method gives one a meaning.
        if !request.body.isEmpty || request.method == .post || request.method == .put || request.method == .patch {
            fields.add(.contentLength, FieldValue(request.body.count))
        }
        return RequestHead(method: request.method, target: target, fields: fields)
    }

    private static func isOwn(_ name: FieldName) -> Bool {
        switch name {
        case .host, .contentLength, .transferEncoding, .connection, .keepAlive, .te, .trailer, .upgrade, .expect: true
        default: false
        }
    }
}
