import ChatterdBasics
import Glibc

/// What a server takes from outside, so that tests can give it something else.
public struct Environment: Sendable {
    /// Seconds since 1970, for the Date field.
    public var wallClock: @Sendable () -> Int
    /// A random number for each shard, which request ids are made from.
    public var seed: @Sendable () -> UInt64
    /// The JSON of an error.
    public var errorBody: @Sendable (Refusal) -> ByteBuffer
    /// Called on the shard at the end of each exchange, for the log; must not block.
    public var onExchangeEnd: @Sendable (ExchangeRecord) -> Void

    /// The clock and the randomness of the system, errors as `{"error":"text","code":"…"}`, and no log.
    public init() {
        wallClock = { time(nil) }
        seed = { UInt64.random(in: .min ... .max) }
        errorBody = { .error($0) }
        onExchangeEnd = { _ in }
    }
}

extension ByteBuffer {
    /// The JSON of an error.
    public static func error(_ refusal: Refusal) -> ByteBuffer {
        var body = ByteBuffer(capacity: 128)
        body.append("{\"error\":")
        body.append(jsonString: refusal.message)
        body.append(",\"code\":")
        body.append(jsonString: refusal.code)
        body.append("}\n")
        return body
    }
}
