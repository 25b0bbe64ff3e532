import ChatterdBasics
import ChatterdHTTP
import ChatterdSockets
import Glibc

/// The functions that a server calls outside of itself. Tests replace them.
public struct ServerHooks: Sendable {
    /// Returns the time of day in seconds since 1970, for the Date field.
    public var wallClock: @Sendable () -> Int
    /// Returns a random number for each shard. The shard computes the ids of requests from it.
    public var seed: @Sendable () -> UInt64
    /// Returns the form of the errors for a request: a number with a meaning for `errorAnswer`. Requests whose head cannot be read have
    /// the form 0.
    public var errorForm: @Sendable (RequestHead) -> UInt8
    /// Returns the status and the JSON of an error in a form.
    public var errorAnswer: @Sendable (Refusal, UInt8) -> (status: Status, body: ByteBuffer)
    /// Returns the account that counts the body of a request; `nil` for none. Called on the shard of the connection while the body
    /// arrives, when it becomes longer than `MemoryUse.small`.
    public var bodyAccount: @Sendable (RequestHead, Shard) -> MemoryAccount?
    /// Called on the shard at the end of each exchange, for the log. It must not block.
    public var onExchangeEnd: @Sendable (ExchangeRecord) -> Void

    /// Uses the clock and the random numbers of the system, writes errors as `{"error":"text","code":"…"}`, and logs no exchange.
    public init() {
        wallClock = { time(nil) }
        seed = { UInt64.random(in: .min ... .max) }
        errorForm = { _ in 0 }
        errorAnswer = { refusal, _ in (refusal.status, .error(refusal)) }
        bodyAccount = { _, _ in nil }
        onExchangeEnd = { _ in }
    }
}

extension ByteBuffer {
    /// The JSON of an error.
    public static func error(_ refusal: Refusal) -> ByteBuffer {
        var body = ByteBuffer(capacity: 128)
        body.appendJSON { json in
            json.object { json in
                json.member("error", refusal.message)
                json.member("code", refusal.code)
                json.member("retryable", refusal.isRetryable)
            }
        }
        body.append("\n")
        return body
    }
}
