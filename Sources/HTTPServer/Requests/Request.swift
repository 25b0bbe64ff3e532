import ChatterdBasics
import ChatterdHTTP
import ChatterdSockets

/// A whole request, body included.
public struct Request: Sendable {
    /// The head.
    public let head: RequestHead
    /// The body, unframed; at most the limit.
    public let body: RequestBody
    /// What stood in the place of the pattern's `:name`, decoded; nil when the pattern has none.
    public let parameter: String?
    /// The id that the client sent or was given.
    public let id: String
    /// The client.
    public let peer: SocketAddress
    /// The shard that the connection lives on, and the handler too.
    public let shard: Shard
    /// When its first byte was read.
    public let arrival: Instant

    /// The method.
    public var method: Method { head.method }
    /// The fields.
    public var fields: Fields { head.fields }
}
