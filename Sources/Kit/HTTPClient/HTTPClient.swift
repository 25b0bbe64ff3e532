import ChatterdBasics
import ChatterdHTTP
import ChatterdSockets

/// An HTTP/1.1 client on one shard, which hands responses on as they arrive. Confined to its shard.
///
/// A connection whose response is complete serves the next request to the same origin. The client does not limit the number of
/// exchanges; its owner counts them. An unused client costs little, so that each of many servers can have its own, with its own limits
/// and authorities.
/// Any thread may create and release a client.
public final class HTTPClient {
    private let shard: Shard
    private let limits: HTTPClientLimits
    private var tls: TLSContext?
    private var pools: [Origin: OriginPool] = [:]

    /// Creates a client, on any thread.
    ///
    /// - Parameter tls: the context for https, which clients may share; `nil` for the system's authorities.
    public init(shard: Shard, limits: HTTPClientLimits = HTTPClientLimits(), tls: TLSContext? = nil) {
        self.shard = shard
        self.limits = limits
        self.tls = tls
    }

    /// Sends a request. The delegate gets the response, or the failure, after this call has returned.
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
        // A pool and its idle connections retain each other. The last reference to the client may be released on any thread.
        guard !pools.isEmpty else { return }
        let pools = Confined(pools.values, to: shard)
        shard.run {
            for pool in pools.value {
                pool.retire()
            }
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

    /// The head to send; `nil` if the path or a field is malformed.
    private static func head(of request: OutgoingRequest, to origin: Origin) -> RequestHead? {
        guard request.path.hasPrefix("/"), let host = FieldValue(validating: origin.authority) else { return nil }
        let target: Target
        do throws(HTTPError) {
            target = try Target(origin.basePath + request.path, for: request.method)
        } catch {
            return nil
        }
        var fields = Fields()
        fields.reserveCapacity(request.fields.count + 2)
        fields.add(.host, host)
        for field in request.fields where !isOwn(field.name) {
            guard let value = FieldValue(validating: field.value) else { return nil }
            fields.add(field.name, value)
        }
        // RFC 9110 8.6: a method that gives a body a meaning sends the length of an empty one too.
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
