import ChatterdBasics
import ChatterdHooks
import ChatterdJSONLog
import ChatterdMetrics
import ChatterdRelay
import ChatterdTools

/// Counts what happens to the replies of a shard, and logs what an operator should know: failovers, takeovers and fences. Confined to its
/// shard.
struct ReplyObserver {
    /// The label of a reply that no model server was asked for.
    private static let none = "none"

    private let confined: Confined<MetricCounts>
    private let log: Log
    private let tracer: Tracer?
    private let now: () -> Instant

    private var counts: MetricCounts { confined.value }

    init(_ counts: Confined<MetricCounts>, log: Log, tracer: Tracer?, now: @escaping () -> Instant) {
        confined = counts
        self.log = log
        self.tracer = tracer
        self.now = now
    }

    func observe(_ event: ReplyEvent) {
        switch event {
        case .began(let origin):
            counts.add(to: .repliesStarted, origin.rawValue)
            if origin == .adopted {
                counts.add(to: .takeovers, origin.rawValue)
                log.event(.info, "reply adopted")
            }
        case .requestEnded(let upstream, let outcome):
            counts.add(to: .upstreamRequests, upstream, outcome.word)
        case .failover(let from, let to, let phase, let outcome):
            counts.add(to: .failovers, from, to, phase.rawValue)
            // A repeated request to the same server is not a failover.
            if from != to {
                log.event(
                    .warning, "failover", .upstream(from), .next(to), .subject(Log.Word(phase)),
                    .code(Log.Word(known: outcome.word)))
            }
        case .queued(let upstream, let time): counts.observe(time, in: .queueWait, upstream)
        case .answered(let facts, let parts): countFirstToken(facts, parts)
        case .ended(let facts, let ending):
            countEnd(facts, ending)
            trace(facts, as: ending.state.rawValue, error: ending.isError ? ending.cause?.code.rawValue : nil)
        case .left(let facts, let departure):
            countDeparture(facts, departure)
            let isFailure = departure == .fenced || departure == .unconfirmed
            trace(facts, as: departure.rawValue, error: isFailure ? departure.rawValue : nil)
        }
    }

    /// Counts a call of a tool. Only the names of tools and times are logged: a result may have what a person has said.
    func observe(_ call: ToolCallReport) {
        counts.add(to: .toolCalls, call.tool, call.isError ? "failed" : "done")
        counts.observe(call.time, in: .toolTime, call.tool)
        if call.isError {
            log.event(.warning, "tool failed", .tool(call.tool), .milliseconds(Int(call.time.nanoseconds / 1_000_000)))
        }
    }

    /// Counts a message to a hook, and logs its failure.
    func observe(_ call: HookCall) {
        counts.add(to: .hookCalls, call.hook, call.event.rawValue, call.outcome.word)
        counts.observe(call.time, in: .hookTime, call.hook, call.event.rawValue)
        // The end of a reply is delivered again: its own line has the number of attempts.
        if call.event != .end, case .failed(let reason) = call.outcome {
            log.event(.warning, "hook failed", .hook(call.hook), .error(reason))
        }
    }

    private func trace(_ facts: ReplyFacts, as state: String, error: String?) {
        guard let tracer, facts.trace != nil else { return }
        tracer.end(facts, as: state, error: error, at: now())
    }

    private func countFirstToken(_ facts: ReplyFacts, _ parts: FirstTokenParts) {
        let upstream = facts.upstream ?? Self.none
        counts.observe(parts.total, in: .timeToFirstToken, upstream, facts.knownModel)
        counts.observe(parts.chatterd, in: .partsOfFirstToken, "chatterd", upstream)
        counts.observe(parts.turn, in: .partsOfFirstToken, "turn", upstream)
        counts.observe(parts.queue, in: .partsOfFirstToken, "queue", upstream)
        counts.observe(parts.retry, in: .partsOfFirstToken, "retry", upstream)
        counts.observe(parts.upstream, in: .partsOfFirstToken, "upstream", upstream)
    }

    private func countEnd(_ facts: ReplyFacts, _ ending: ReplyEnding) {
        let upstream = facts.upstream ?? Self.none
        let model = facts.upstream == nil ? Self.none : facts.knownModel
        let state = ending.state.rawValue
        let now = now()
        counts.add(to: .repliesEnded, state, ending.cause?.code.rawValue ?? "ok", upstream, model)
        counts.observe(now - facts.acceptedAt, in: .replyDuration, upstream, model, state)
        if let tokens = facts.promptTokens {
            counts.add(tokens, to: .tokens, "prompt", upstream, model)
        }
        if let tokens = facts.answerTokens {
            counts.add(tokens, to: .tokens, "completion", upstream, model)
        }
        if let time = facts.timePerToken(at: now) {
            counts.observe(time, in: .timePerToken, upstream, model)
        }
    }

    private func countDeparture(_ facts: ReplyFacts, _ departure: ReplyEvent.Departure) {
        let model = facts.upstream == nil ? Self.none : facts.knownModel
        counts.add(to: .repliesEnded, departure.rawValue, Self.none, facts.upstream ?? Self.none, model)
        switch departure {
        case .handedOver:
            counts.add(to: .takeovers, departure.rawValue)
            log.event(.info, "reply handed over")
        case .fenced:
            counts.add(to: .takeovers, departure.rawValue)
            log.event(.warning, "reply fenced")
        case .replaced, .unconfirmed: break
        }
    }
}
