import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdRelay
import ChatterdTracing

extension TraceSpan {
    /// The span of a request to chatterd.
    init(_ exchange: ExchangeRecord, _ trace: RequestTrace, at now: Instant, _ clock: SpanClock) {
        let (method, route) = (exchange.methodLabel, exchange.route ?? "-")
        let end = clock.time(of: now)
        self.init(
            trace.context, in: trace.parent, .server, "\(method) \(route)",
            from: end - min(end, exchange.total.nanoseconds), to: end)
        add(.method, method)
        add(.route, route)
        add(.status, exchange.status.map { Int($0.code) })
        add(.requestID, exchange.id)
        let code = exchange.code
        // What a client does, or does wrong, is no failure of the server.
        let isOfClient = code == "client_gone" || 400..<500 ~= exchange.status?.code ?? 0
        if code != "ok", code != RelayError.Code.cancelled.rawValue, !isOfClient { fail(code) }
    }

    /// The spans of a reply: that of its whole time, and one of each stage.
    static func spans(
        of facts: ReplyFacts, _ trace: ReplyTrace, as state: String, error: String?, at now: Instant,
        _ clock: SpanClock
    ) -> [TraceSpan] {
        var whole = TraceSpan(
            trace.context, in: trace.parent, .inner, "reply", from: clock.time(of: facts.acceptedAt),
            to: clock.time(of: now))
        whole.add(.state, state)
        whole.add(.attempts, facts.requests)
        if let origin = trace.origin { whole.links = [origin] }
        if let error { whole.fail(error) }
        var spans = [whole]
        if let admission = trace.admission {
            spans.append(
                TraceSpan(
                    admission, in: trace.context.span, .inner, "admission",
                    from: clock.time(of: facts.acceptedAt), to: clock.time(of: facts.storedAt)))
        }
        spans += trace.parts.map { TraceSpan($0, in: trace, at: clock) }
        return spans
    }

    private init(_ part: ReplyTrace.Part, in trace: ReplyTrace, at clock: SpanClock) {
        let context = trace.context.with(span: part.span)
        let (start, end) = (clock.time(of: part.start), clock.time(of: part.end))
        func span(_ kind: Kind, _ name: String) -> TraceSpan {
            TraceSpan(context, in: trace.context.span, kind, name, from: start, to: end)
        }
        switch part.stage {
        case .turn: self = span(.inner, "turn.wait")
        case .queue(let upstream):
            self = span(.inner, "queue.wait")
            add(.upstream, upstream)
        case .request(let request):
            // The conventions for requests to models name the span so.
            self = span(.client, "chat \(request.model)")
            add(.operation, "chat")
            add(.provider, request.kind)
            add(.requestModel, request.model)
            add(.upstream, request.upstream)
            add(.inputTokens, request.tokens.prompt)
            add(.outputTokens, request.tokens.answer)
            if let time = request.answeredAt { add(event: "first_token", at: clock.time(of: time)) }
            if case .failed = request.outcome { fail(request.outcome.word) }
        case .tools: self = span(.inner, "tools")
        case .review: self = span(.inner, "hooks")
        case .store: self = span(.inner, "store.close")
        }
    }
}
