import ChatterdHTTP

/// Whoever takes a response; all calls come on the exchange's shard, none from within `start`.
///
/// Exactly one of `exchangeEnded` and `failed` comes, once and last; nothing comes after `cancel`.
public protocol ExchangeDelegate: AnyObject {
    /// The head of the final response came in, whatever its status: redirects are not followed.
    func exchange(_ exchange: Exchange, received head: ResponseHead)
    /// Bytes of the body came in, decoded; they are lent for the duration of the call.
    func exchange(_ exchange: Exchange, received body: Span<UInt8>)
    /// The body is complete.
    func exchangeEnded(_ exchange: Exchange)
    /// The response will not be complete.
    func exchange(_ exchange: Exchange, failed error: HTTPClientError)
}
