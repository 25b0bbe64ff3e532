import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdRelay
import ChatterdTracing

extension SpanTexts {
    /// The span of a request to chatterd.
    init(of exchange: ExchangeRecord, _ trace: RequestTrace, at now: Instant, _ clock: SpanClock) {
        self.init(expecting: 1)
        let (method, route) = (exchange.methodLabel, exchange.route ?? "-")
        let end = clock.time(of: now)
        begin(
            trace.context, in: trace.parent, .server, "\(method) \(route)",
            from: end - min(end, exchange.total.nanoseconds), to: end)
        add(.method, method)
        add(.route, route)
        add(.status, exchange.status.map { Int($0.code) })
        add(.requestID, exchange.id)
        if let reason = Self.failure(of: exchange) { fail(reason) }
        self.end()
    }

    /// Why the server has failed; `nil` if it has not. What a client does, or does wrong, is no failure of the server.
    private static func failure(of exchange: ExchangeRecord) -> String? {
        let (code, status) = (exchange.code, exchange.status?.code ?? 0)
        switch code {
        case "client_gone", RelayError.Code.cancelled.rawValue: return nil
        // The response of a model server, with its status.
        case "ok": return status >= 500 ? "\(status)" : nil
        default: return 400..<500 ~= status ? nil : code
        }
    }

    /// The spans of a reply: that of its whole time, and one of each stage.
    init(
        of facts: ReplyFacts, _ trace: ReplyTrace, as state: String, error: String?, at now: Instant, _ clock: SpanClock
    ) {
        self.init(expecting: 2 + trace.parts.count)
        let start = clock.time(of: facts.acceptedAt)
        begin(trace.context, in: trace.parent, .inner, "reply", from: start, to: clock.time(of: now))
        add(.state, state)
        add(.attempts, facts.requests)
        if let error { fail(error) }
        end(link: trace.origin)
        if let admission = trace.admission {
            begin(
                admission, in: trace.context.span, .inner, "admission", from: start,
                to: clock.time(of: facts.storedAt))
            end()
        }
        for part in trace.parts { append(part, in: trace, at: clock) }
    }

    private mutating func append(_ part: ReplyTrace.Part, in trace: ReplyTrace, at clock: SpanClock) {
        func begin(_ kind: Kind, _ name: String) {
            self.begin(
                trace.context.with(span: part.span), in: trace.context.span, kind, name,
                from: clock.time(of: part.start), to: clock.time(of: part.end))
        }
        switch part.stage {
        case .turn: begin(.inner, "turn.wait")
        case .queue(let upstream):
            begin(.inner, "queue.wait")
            add(.upstream, upstream)
        case .backOff: begin(.inner, "retry.wait")
        case .request(let request):
            // The conventions for requests to models name the span so.
            begin(.client, "chat \(request.model)")
            append(request)
        case .tools: begin(.inner, "tools")
        case .review: begin(.inner, "hooks")
        case .store: begin(.inner, "store.close")
        }
        var firstToken: Instant?
        if case .request(let request) = part.stage { firstToken = request.answeredAt }
        end(firstToken: firstToken.map { clock.time(of: $0) })
    }

    private mutating func append(_ request: ReplyTrace.Request) {
        add(.operation, "chat")
        add(.provider, request.kind)
        add(.requestModel, request.model)
        add(.upstream, request.upstream)
        add(.inputTokens, request.tokens.prompt)
        add(.outputTokens, request.tokens.answer)
        if case .failed = request.outcome { fail(request.outcome.word) }
    }
}
