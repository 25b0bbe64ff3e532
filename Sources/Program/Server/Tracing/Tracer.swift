import ChatterdBasics
import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdRelay
import ChatterdTracing

/// Begins the traces of requests with prompts, and makes the spans of what has ended. Safe on any thread.
final class Tracer: Sendable {
    private let sampler: Sampler
    private let exporter: SpanExporter

    init(_ sampler: Sampler, exporter: SpanExporter) {
        self.sampler = sampler
        self.exporter = exporter
    }

    /// The span of a request, in the trace that its fields name or in a new one.
    func begin(_ fields: Fields) -> RequestTrace {
        let parents = fields.values(of: .traceparent)
        let states = fields.values(of: .tracestate)
        // A request with two of them names none.
        let parent =
            parents.count == 1
            ? TraceContext(traceparent: parents[0], tracestate: Array(states)) : nil
        let context = sampler.span(of: parent, trace: Self.newTrace(), span: .random(in: 1 ... .max))
        return RequestTrace(context, in: parent?.span)
    }

    /// The id of a new trace.
    static func newTrace() -> TraceID { TraceID(high: .random(in: .min ... .max), low: .random(in: .min ... .max)) }

    /// Records the span of a request that has ended.
    func end(_ exchange: ExchangeRecord, at clock: SpanClock) {
        guard let trace = exchange.notes.trace, trace.context.isSampled else { return }
        exporter.add([TraceSpan(exchange, trace, at: clock)])
    }

    /// Records the spans of a reply that has ended here.
    ///
    /// - Parameters:
    ///   - state: how it has ended.
    ///   - error: the code of its error; `nil` without one.
    func end(_ facts: ReplyFacts, as state: String, error: String?, at clock: SpanClock) {
        guard let trace = facts.trace, trace.context.isSampled else { return }
        exporter.add(TraceSpan.spans(of: facts, trace, as: state, error: error, at: clock))
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

/// The present moment by both clocks. Times of spans are counted back from it.
struct SpanClock {
    let now: Instant
    /// Nanoseconds since 1970.
    let time: UInt64

    init(now: Instant, nanoseconds: Int64 = WallClock.nanoseconds()) {
        self.now = now
        time = UInt64(max(0, nanoseconds))
    }

    /// Nanoseconds since 1970.
    func time(of instant: Instant) -> UInt64 { time(before: now - instant) }

    /// The time before a duration.
    func time(before duration: Duration) -> UInt64 { time - min(time, duration.nanoseconds) }
}
