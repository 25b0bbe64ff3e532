import ChatterdBasics
import ChatterdHTTP
import ChatterdSockets

/// The input of a connection that no request has used yet. Confined to its shard.
///
/// It keeps bytes only while a head is incomplete or requests are pipelined. An idle connection and one that streams a response hold
/// no buffer.
struct RequestInput {
    /// The number of requests of a connection in one turn of the shard. A client can send thousands of short ones at once.
    private static let requestsPerTurn = 64

    /// The bytes that are read and not used: a part of a head, or requests to come.
    private var backlog: ByteBuffer?
    /// The position in the head of which `backlog` holds a part.
    private var parser: RequestHeadParser?
    /// The request whose body is being read.
    var request: IncomingRequest?
    /// When the first byte of the present request was read.
    private(set) var arrival = Instant.distantPast
    /// Whether the connection uses bytes at the moment. A response that ends meanwhile need not look at the backlog.
    var isInUse = false
    /// Whether the rest of the backlog waits for the next turn of the shard.
    var isYielding = false
    private var turn = Instant.distantPast
    private var requestsInTurn = 0

    /// Counts a request; `false` if those of this turn are used up.
    ///
    /// - Parameter now: the time of the shard, which is the same during a turn.
    mutating func mayBegin(at now: Instant) -> Bool {
        if turn != now {
            (turn, requestsInTurn) = (now, 0)
        }
        requestsInTurn += 1
        return requestsInTurn <= Self.requestsPerTurn
    }

    /// Whether bytes are kept.
    var hasBacklog: Bool { backlog != nil }

    /// Keeps bytes, in a buffer of the shard.
    mutating func keep(_ bytes: Span<UInt8>, on shard: Shard) {
        var kept = backlog.take() ?? shard.acquireBuffer()
        kept.append(bytes)
        backlog = consume kept
    }

    /// Passes the kept bytes to the caller, which uses some of them and puts the rest back.
    mutating func removeBacklog() -> ByteBuffer? {
        backlog.take()
    }

    /// Keeps the rest of a removed backlog, or gives the empty buffer back to the shard.
    mutating func putBack(_ rest: consuming ByteBuffer, on shard: Shard) {
        if rest.isEmpty {
            shard.releaseBuffer(consume rest)
        } else {
            backlog = consume rest
        }
    }

    /// Parses a head and returns it with its length in bytes; `nil` while it is incomplete. Its bytes stay unused until then.
    mutating func parseHead(
        _ bytes: Span<UInt8>, limits: HeadLimits, at now: Instant
    ) throws(HTTPError) -> (head: RequestHead, length: Int)? {
        if parser == nil {
            arrival = now
        }
        // Moved out and back, so that its arrays are not copied.
        var parser = parser.take() ?? RequestHeadParser(limits: limits)
        do throws(HTTPError) {
            guard let head = try parser.parse(bytes) else {
                self.parser = parser
                return nil
            }
            return (head, parser.consumed)
        } catch {
            self.parser = parser
            throw error
        }
    }

    /// The method of a head that is broken or incomplete, once it is known; `bytes` begin with the head.
    func methodOfPartialHead(in bytes: Span<UInt8>) -> Method? {
        parser?.method(in: bytes)
    }

    /// The method of the head of which the backlog holds a part, once it is known.
    var methodOfPartialHead: Method? {
        guard let parser, let backlog else { return nil }
        return parser.method(in: backlog.bytes)
    }

    /// Removes the kept bytes, because no further request will be read.
    mutating func discard() {
        backlog = nil
        parser = nil
        request = nil
    }
}
