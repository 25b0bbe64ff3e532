import ChatterdBasics
import ChatterdTracing

/// The stages of a reply whose request has a trace, with their times. Confined to the shard of the reply.
public final class ReplyTrace {
    /// What a reply spent its time on.
    public enum Stage {
        /// Earlier turns of the conversation, and reading the history.
        case turn
        /// The queue of a model server.
        case queue(upstream: String)
        /// The pause before a model server is asked again.
        case backOff
        /// A request to a model server.
        case request(Request)
        /// The calls of tools of the server.
        case tools
        /// The hooks, which see the answer before clients do.
        case review
        /// Storing the end.
        case store
    }

    /// A request to a model server.
    public struct Request {
        public let upstream: String
        public let kind: String
        public let model: String
        /// When its first line came.
        public internal(set) var answeredAt: Instant?
        /// How it ended.
        public internal(set) var outcome = RequestOutcome.cancelled
        /// The tokens as the model server counts them.
        public internal(set) var tokens = TokenCounts()
    }

    /// A stage with its span.
    public struct Part {
        public let stage: Stage
        public let span: UInt64
        public let start: Instant
        public let end: Instant
    }

    /// The limit of stages. Further ones are left out: a reply has some for each round of tools, and for each server that fails.
    static let maximumParts = 128
    /// A request to a model server, the store, and two more.
    private static let usualParts = 4

    /// The span of the reply.
    public let context: TraceContext
    /// The span that the reply belongs to; `nil` for an adopted one, which begins a trace.
    public let parent: UInt64?
    /// The span of the first request of an adopted reply.
    public let origin: TraceContext?
    /// The span from the whole request to the commit of its prompt; `nil` for an adopted reply, which another process has stored.
    public let admission: TraceContext?
    /// The stages that have ended, in order.
    public private(set) var parts: [Part] = []

    /// Ids of spans follow from one random number.
    private var ids: SplitMix64
    private var open: (request: Request, span: UInt64, start: Instant)?

    /// The trace of a reply that the request with this span has begun.
    init(of request: TraceContext) {
        ids = SplitMix64(seed: request.span)
        context = request.with(span: ids.next())
        (parent, origin) = (request.span, nil)
        admission = request.with(span: ids.next())
    }

    /// The trace of a reply whose process has left it.
    init(adopting origin: TraceContext, as trace: TraceID) {
        ids = SplitMix64(seed: trace.low)
        context = TraceContext(newTrace: trace, span: ids.next(), isSampled: origin.isSampled)
        (parent, self.origin, admission) = (nil, origin, nil)
    }

    /// Records a stage that has ended.
    func record(_ stage: Stage, from start: Instant, to end: Instant) {
        add(stage, span: ids.next(), from: start, to: end)
    }

    private func add(_ stage: Stage, span: UInt64, from start: Instant, to end: Instant) {
        guard context.isSampled, parts.count < Self.maximumParts else { return }
        if parts.isEmpty { parts.reserveCapacity(Self.usualParts) }
        parts.append(Part(stage: stage, span: span, start: start, end: end))
    }

    /// Records the beginning of a request to a model server.
    ///
    /// - Returns: the span, for the model server.
    func beginRequest(to upstream: String, kind: String, model: String, at now: Instant) -> TraceContext {
        let span = ids.next()
        open = (Request(upstream: upstream, kind: kind, model: model), span, now)
        return context.with(span: span)
    }

    /// Records the first line of the request.
    func requestAnswered(at now: Instant) {
        open?.request.answeredAt = now
    }

    /// Records the end of the request.
    func endRequest(_ outcome: RequestOutcome, tokens: TokenCounts, at now: Instant) {
        guard let (begun, span, start) = open.take() else { return }
        var request = begun
        (request.outcome, request.tokens) = (outcome, tokens)
        add(.request(request), span: span, from: start, to: now)
    }
}
