import ChatterdHTTP

/// What happened to one request, for the log; holds no text of the request but its id.
public struct ExchangeRecord: Sendable {
    /// How an exchange ended.
    public enum Outcome: Sendable, Hashable {
        /// The response went out in full.
        case completed
        /// The client went away, or stopped reading, before the response was out.
        case clientGone
        /// The server cut the response off.
        case aborted
        /// The request was answered with an error by the server itself; its code.
        case refused(String)
    }

    /// The id that the client sent or was given.
    public let id: String
    /// The method; nil when the request was too broken to have one.
    public let method: Method?
    /// The pattern of the route, never the path; nil when none matched.
    public internal(set) var route: String?
    /// The status sent; nil when none was.
    public internal(set) var status: Status?
    /// Bytes of the request, framing included.
    public internal(set) var bytesIn = 0
    /// Bytes of the response, framing included; what the system took may be less if the client went away.
    public internal(set) var bytesOut = 0
    /// From the first byte of the head to the first byte of the response.
    public internal(set) var timeToResponse: Duration?
    /// From the first byte of the head to the end.
    public internal(set) var total = Duration.zero
    /// The end.
    public internal(set) var outcome = Outcome.completed
    /// What the handler noted, in order.
    public internal(set) var annotations: [(key: String, value: String)] = []

    init(id: String, method: Method?) {
        self.id = id
        self.method = method
    }
}
