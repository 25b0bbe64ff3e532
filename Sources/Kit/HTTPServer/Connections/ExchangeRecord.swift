import ChatterdHTTP

/// The facts about one request, for the log. It has no text of the request except the id.
public struct ExchangeRecord: Sendable {
    /// How an exchange ended.
    public enum Outcome: Sendable, Hashable {
        /// The whole response was sent.
        case completed
        /// The client disconnected, or stopped reading, before the end of the response.
        case clientGone
        /// The server cut the response off.
        case aborted
        /// The server itself answered with an error of this code.
        case refused(String)
    }

    /// Why the server disconnected a client that read too slowly.
    public enum Cut: String, Sendable, CaseIterable {
        /// The system accepted no byte for too long.
        case stalled
        /// Too many bytes waited for the client.
        case unsent
        /// The memory budget had no room for the bytes that waited.
        case memory
    }

    /// The id of the request, from the client or from the server.
    public let id: String
    /// The method; `nil` if the request was too broken to have one.
    public let method: Method?
    /// The pattern of the route, never the path; `nil` if none matched.
    public internal(set) var route: String?
    /// The sent status; `nil` if none was sent.
    public internal(set) var status: Status?
    /// Bytes of the request, framing included.
    public internal(set) var bytesIn = 0
    /// Bytes of the response, framing included. The system may have accepted fewer if the client disconnected.
    public internal(set) var bytesOut = 0
    /// From the first byte of the head to the first byte of the response.
    public internal(set) var timeToResponse: Duration?
    /// From the first byte of the head to the end.
    public internal(set) var total = Duration.zero
    /// How the exchange ended.
    public internal(set) var outcome = Outcome.completed
    /// Why the client was disconnected, if it read too slowly.
    public internal(set) var cut: Cut?
    /// The index of the shard that served the request.
    public let shard: Int
    /// What the handler has attached, for the log.
    public internal(set) var attachment: (any Sendable)?
    /// The annotations of the handler, in order.
    public internal(set) var annotations: [(key: String, value: String)] = []

    init(id: String, method: Method?, shard: Int) {
        self.id = id
        self.method = method
        self.shard = shard
    }
}
