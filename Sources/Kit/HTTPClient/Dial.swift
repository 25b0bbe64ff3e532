import ChatterdBasics
import ChatterdSockets

/// One attempt to connect: it looks the name up and tries each address in turn. Confined to its shard.
final class Dial: TCPStreamDelegate {
    private let exchange: Exchange
    private let pool: OriginPool
    private let deadline: Instant
    private var addresses: [SocketAddress] = []
    private var isResolved = false
    private var nextAddress = 0
    private var stream: TCPStream?
    private var isOver = false
    private var lastError: HTTPClientError?
    private lazy var timer = DeadlineTimer(on: pool.shard) { [unowned self] in timedOut() }

    init(for exchange: Exchange) {
        self.exchange = exchange
        pool = exchange.pool
        deadline = pool.shard.now + pool.limits.connect
    }

    func start() {
        timer.set(at: deadline)
        pool.resolve(for: self)
    }

    /// Stops the dial without a call to the exchange.
    func cancel() {
        isOver = true
        timer.cancel()
        stream?.close()
        stream = nil
    }

    func resolved(_ result: Result<[SocketAddress], SocketError>) {
        guard !isOver else { return }
        isResolved = true
        switch result {
        case .success(let found):
            addresses = found
            tryNextAddress()
        case .failure(let error):
            fail(HTTPClientError(connecting: error))
        }
    }

    private func tryNextAddress() {
        while nextAddress < addresses.count {
            let address = addresses[nextAddress]
            let left = max(.zero, deadline - pool.shard.now)
            // Each address gets an equal share of the time left, so that a dead first one leaves time for the second.
            timer.set(after: left / (addresses.count - nextAddress))
            nextAddress += 1
            // Checked for each address, because the addresses of a name may change, or a stranger may choose them.
            guard pool.limits.allowsLinkLocal || !(address.isLinkLocal || address.isMetadataService) else {
                lastError = HTTPClientError(
                    .forbiddenAddress,
                    "\(pool.origin.host) is at \(address.host), a link-local address or a metadata service")
                continue
            }
            guard pool.limits.allowsPrivate || address.isPublic else {
                lastError = HTTPClientError(
                    .forbiddenAddress, "\(pool.origin.host) is at \(address.host), which is not a public address")
                continue
            }
            do throws(SocketError) {
                stream = try TCPStream.connect(
                    to: address, on: pool.shard, delegate: self, tls: pool.tls.map { ($0, pool.origin.host) })
                return
            } catch {
                lastError = HTTPClientError(connecting: error)
            }
        }
        pool.forgetAddresses()
        fail(lastError ?? HTTPClientError(.unresolvable, "the name \(pool.origin.host) has no address"))
    }

    private func timedOut() {
        guard isResolved else {
            fail(HTTPClientError(.unresolvable, "looking up the name \(pool.origin.host) took too long"))
            return
        }
        stream?.close()
        lastError = HTTPClientError(.connectTimedOut, "no connection to \(pool.origin) within the time limit")
        tryNextAddress()
    }

    private func fail(_ error: HTTPClientError) {
        cancel()
        // Later, because the system may refuse a connection at once, within the start of the exchange.
        exchange.failLater(error)
    }

    // MARK: - TCPStreamDelegate

    func streamConnected(_ stream: TCPStream) {
        isOver = true
        timer.cancel()
        self.stream = nil
        exchange.run(on: ClientConnection(stream, pool: pool))
    }

    func stream(_ stream: TCPStream, received bytes: Span<UInt8>) {}

    func streamReachedEnd(_ stream: TCPStream) {}

    func stream(_ stream: TCPStream, failed error: SocketError) {
        self.stream = nil
        guard error.code != .tls else {
            // Another address of the name would show the same certificate.
            fail(HTTPClientError(connecting: error))
            return
        }
        lastError = HTTPClientError(connecting: error)
        tryNextAddress()
    }
}

extension HTTPClientError {
    /// Converts a failure to connect.
    fileprivate init(connecting error: SocketError) {
        let code: Code =
            switch error.code {
            case .unresolvable: .unresolvable
            case .refused, .reset: .refused
            case .timedOut: .connectTimedOut
            case .tls: .tls
            case .invalidAddress: .invalidURL
            case .addressInUse, .system: .other
            }
        self.init(code, error.message)
    }
}
