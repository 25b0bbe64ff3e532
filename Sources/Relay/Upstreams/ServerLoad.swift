/// Whether a model server should get another request.
enum ServerLoad: Int, Comparable {
    /// The server has a free slot, and no more than its share of the requests.
    case free
    /// The server has a free slot, but more than its share.
    case aboveShare
    /// All slots of the server are in use.
    case full

    static func < (one: ServerLoad, other: ServerLoad) -> Bool { one.rawValue < other.rawValue }

    /// The most requests that one of several equal servers gets while another one has fewer: a quarter more than the average, with the next
    /// request.
    ///
    /// - Parameters:
    ///   - running: the requests that run at all of them.
    ///   - servers: their number; at least 1.
    static func share(of running: Int, among servers: Int) -> Int {
        // Rounded up, so that a server always has room.
        (5 * (running + 1) + 4 * servers - 1) / (4 * servers)
    }
}
