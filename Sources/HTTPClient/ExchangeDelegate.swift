import ChatterdHTTP

/// Receives a response. All calls arrive on the shard of the exchange, and none within `start`.
///
/// Exactly one of `exchangeEnded` and `failed` is called, once and last. No call follows `cancel`.
public protocol ExchangeDelegate: AnyObject {
    /// The head of the final response arrived, with any status. The client follows no redirection.
    func exchange(_ exchange: Exchange, received head: ResponseHead)
    /// Decoded bytes of the body arrived. They are lent for the duration of the call.
    func exchange(_ exchange: Exchange, received body: Span<UInt8>)
    /// The body is complete.
    func exchangeEnded(_ exchange: Exchange)
    /// The response will not be complete.
    func exchange(_ exchange: Exchange, failed error: HTTPClientError)
}
