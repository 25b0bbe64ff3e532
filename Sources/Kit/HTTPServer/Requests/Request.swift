import ChatterdBasics
import ChatterdHTTP
import ChatterdSockets

/// A request with its whole body. Confined to its shard.
public struct Request {
    public var head: RequestHead
    /// The body without framing, within the limit.
    public let body: RequestBody
    /// The decoded segments for each `:name` of the pattern, in order.
    public let parameters: [String]
    /// The id, from the client or from the server.
    public let id: String
    /// The address of the client.
    public let peer: SocketAddress
    /// The shard of the connection and of the handler.
    public let shard: Shard
    /// When the first byte was read.
    public let arrival: Instant
    /// Whether the connection uses TLS.
    public let isSecure: Bool

    /// The decoded segment for the first `:name` of the pattern; `nil` if the pattern has none.
    public var parameter: String? { parameters.first }
    public var method: Method { head.method }
    public var fields: Fields { head.fields }
}
