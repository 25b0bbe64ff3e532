import ChatterdBasics
import ChatterdHTTP
import ChatterdSockets

/// One exchange whose response is collected whole, within limits on its size and its time. Confined to its shard.
public final class CollectedExchange: ExchangeDelegate {
    /// A response of any status.
    public struct Response: Sendable {
        public let head: ResponseHead
        public let body: ByteBuffer
    }

    /// The reason why there is no response.
    public enum Failure: Error, Sendable, Equatable {
        /// The time limit passed, or the task was cancelled.
        case timedOut
        /// The body is longer than its limit.
        case tooLarge
        /// The exchange failed.
        case failed(HTTPClientError)
    }

    private let limit: Int
    private let isEnough: (ResponseHead, Span<UInt8>) -> Bool
    private var continuation: CheckedContinuation<Result<Response, Failure>, Never>?
    private var exchange: Exchange?
    private var timer: DeadlineTimer?
    private var head: ResponseHead?
    private var body = ByteBuffer()

    private init(limit: Int, until isEnough: @escaping (ResponseHead, Span<UInt8>) -> Bool) {
        self.limit = limit
        self.isEnough = isEnough
    }

    /// Sends a request and returns a response of any status. Call it on the shard. Cancellation of the task ends it at once, like the
    /// time limit.
    ///
    /// - Parameters:
    ///   - size: the limit of the body, in bytes.
    ///   - time: the limit of the whole exchange, the connection included.
    ///   - isEnough: gets each piece of the body, and says whether the caller needs no more of it. The connection is closed then.
    public static func run(
        _ request: OutgoingRequest, to origin: Origin, client: HTTPClient, on shard: Shard, upTo size: Int,
        within time: Duration, until isEnough: @escaping (ResponseHead, Span<UInt8>) -> Bool = { _, _ in false }
    ) async -> Result<Response, Failure> {
        let collected = CollectedExchange(limit: size, until: isEnough)
        let confined = Confined(collected, to: shard)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                collected.continuation = continuation
                collected.timer = DeadlineTimer(on: shard) { [unowned collected] in collected.end(.failure(.timedOut)) }
                collected.timer?.set(after: time)
                collected.exchange = client.start(request, to: origin, delegate: collected)
            }
        } onCancel: {
            shard.run { confined.value.end(.failure(.timedOut)) }
        }
    }

    private func end(_ outcome: Result<Response, Failure>) {
        guard let continuation else { return }
        self.continuation = nil
        exchange?.cancel()
        exchange = nil
        timer = nil
        continuation.resume(returning: outcome)
    }

    // MARK: - ExchangeDelegate

    public func exchange(_ exchange: Exchange, received head: ResponseHead) {
        self.head = head
    }

    public func exchange(_ exchange: Exchange, received bytes: Span<UInt8>) {
        guard body.count + bytes.count <= limit else {
            end(.failure(.tooLarge))
            return
        }
        body.append(bytes)
        if let head, isEnough(head, bytes) { end(.success(Response(head: head, body: body))) }
    }

    public func exchangeEnded(_ exchange: Exchange) {
        guard let head else { return }
        end(.success(Response(head: head, body: body)))
    }

    public func exchange(_ exchange: Exchange, failed error: HTTPClientError) {
        end(.failure(.failed(error)))
    }
}
