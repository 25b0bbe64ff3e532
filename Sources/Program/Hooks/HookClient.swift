import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdSockets

/// Sends messages to hooks. Confined to its shard.
public final class HookClient {
    /// The limit of an answer, in bytes: as of a prompt.
    static let maximumAnswer = 32 << 20

    private let shard: Shard
    private let client: HTTPClient

    public init(on shard: Shard) {
        self.shard = shard
        var limits = HTTPClientLimits()
        // The operator has named the server, and no client can.
        limits.allowsPrivate = true
        client = HTTPClient(shard: shard, limits: limits)
    }

    /// Sends a message.
    ///
    /// - Returns: the body of an answer with a status from 200 to 299.
    /// - Throws: what is wrong, for the log.
    func send(_ message: HookMessage, to hook: Hook) async throws(UsageError) -> [UInt8] {
        let request = await LongWork.run(on: message.body.count) { message.request(to: hook) }
        let outcome = await CollectedExchange.run(
            request, to: hook.origin, client: client, on: shard, upTo: Self.maximumAnswer, within: hook.timeout)
        switch outcome {
        case .success(let response):
            let status = response.head.status.code
            guard 200..<300 ~= status else { throw UsageError("it has answered with status \(status)") }
            return response.body.array
        case .failure(.timedOut): throw UsageError("it has not answered in time")
        case .failure(.tooLarge): throw UsageError("its answer has more than \(Self.maximumAnswer) bytes")
        case .failure(.failed(let error)): throw UsageError(error.message)
        }
    }

    /// Tells a hook of the end of a reply.
    ///
    /// - Throws: what is wrong, for the log.
    public func deliver(_ message: HookMessage, to hook: Hook) async throws(UsageError) {
        _ = try await send(message, to: hook)
    }
}
