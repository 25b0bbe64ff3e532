import ChatterdBasics
import ChatterdConfiguration
import ChatterdCryptography
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdRelay
import ChatterdSockets
import ChatterdTracing

/// Begins the traces of requests with prompts, and makes the spans of what has ended. Safe on any thread.
final class Tracer: Sendable {
    private let sampler: Sampler
    private let exporter: SpanExporter
    private let clock = Lock(SpanClock())

    init(_ sampler: Sampler, exporter: SpanExporter) {
        self.sampler = sampler
        self.exporter = exporter
    }

    /// The span of a request, in the trace that its fields name or in a new one.
    ///
    /// - Parameter random: gives unpredictable ids, which are different in all processes.
    func begin(_ fields: Fields, random: BufferedRandom) -> RequestTrace {
        let parents = fields.values(of: .traceparent)
        let states = fields.values(of: .tracestate)
        // A request with two of them names none.
        let parent =
            parents.count == 1
            ? TraceContext(traceparent: parents[0], tracestate: Array(states)) : nil
        let context = sampler.span(of: parent, trace: TraceID(random), span: random.next())
        return RequestTrace(context, in: parent?.span)
    }

    /// Records the span of a request that has ended now.
    func end(_ exchange: ExchangeRecord, at now: Instant) {
        guard let trace = exchange.notes.trace, trace.context.isSampled else { return }
        exporter.add(SpanTexts(of: exchange, trace, at: now, currentClock))
    }

    /// Records the spans of a reply that has ended here now.
    ///
    /// - Parameters:
    ///   - state: how it has ended.
    ///   - error: the code of its error; `nil` without one.
    func end(_ facts: ReplyFacts, as state: String, error: String?, at now: Instant) {
        guard let trace = facts.trace, trace.context.isSampled else { return }
        exporter.add(SpanTexts(of: facts, trace, as: state, error: error, at: now, currentClock))
    }

    private var currentClock: SpanClock {
        clock.withLock { clock in
            clock.follow()
            return clock
        }
    }
}

extension TraceID {
    /// The id of a new trace.
    init(_ random: BufferedRandom) {
        self.init(high: random.next(), low: random.next())
    }
}

/// The span of a request, and the span that its client has named.
final class RequestTrace: Sendable {
    let context: TraceContext
    let parent: UInt64?

    init(_ context: TraceContext, in parent: UInt64?) {
        self.context = context
        self.parent = parent
    }
}

/// The time of day of instants of the monotonic clock, from one reading of both clocks, so that the spans of a trace fit each other.
struct SpanClock: Sendable {
    /// The difference from which on the time of day was set, and is read again.
    static let step: UInt64 = 100_000_000

    /// The time of day, in nanoseconds since 1970, at the zero of the monotonic clock.
    private var epoch = Self.read()

    static func read() -> UInt64 { UInt64(max(0, WallClock.nanoseconds())) &- Shard.readClock().nanoseconds }

    /// Follows the time of day if it was set.
    ///
    /// - Parameter current: the time of day at the zero of the monotonic clock.
    mutating func follow(_ current: UInt64 = Self.read()) {
        if max(current, epoch) - min(current, epoch) > Self.step { epoch = current }
    }

    /// Nanoseconds since 1970.
    func time(of instant: Instant) -> UInt64 { epoch &+ instant.nanoseconds }
}
