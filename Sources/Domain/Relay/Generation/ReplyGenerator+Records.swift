import ChatterdBasics
import ChatterdChat
import ChatterdTracing

// What is recorded of the requests of a reply: for its receipt, for estimates, and for whoever observes the service.
extension ReplyGenerator {
    /// Records a request, and the failover if another one has failed before.
    ///
    /// - Returns: its span; `nil` without a trace.
    @inline(never)
    func noteRequest(to target: ModelTarget) -> TraceContext? {
        let name = target.upstream.description.name
        if let before = reply.facts.upstream, let outcome {
            let phase: ReplyEvent.Phase =
                switch outcome {
                case .failed(.formViolated): .repaired
                default:
                    run.text != nil ? .continued : !reply.isEmpty ? .restarted : before == name ? .retried : .before
                }
            context.observe(.failover(from: before, to: name, phase, outcome))
        }
        (failure, outcome) = (nil, nil)
        reply.facts.asked(name, model: target.model, knownModel: context.upstreams.knownModel(of: target), at: now)
        return reply.facts.trace?.beginRequest(
            to: name, kind: target.upstream.description.kind.rawValue, model: target.model, at: now)
    }

    /// Records the end of a request.
    func noteEnd(_ outcome: RequestOutcome) {
        self.outcome = outcome
        guard let upstream = reply.facts.upstream else { return }
        context.observe(.requestEnded(upstream: upstream, outcome))
        let tokens = outcome == .complete ? run.lastLine?.tokens : nil
        reply.facts.trace?.endRequest(outcome, tokens: tokens ?? TokenCounts(), at: now)
    }

    /// Records which server produced the text of the request.
    func noteParts(of target: ModelTarget) {
        let end = reply.contentEnd.text
        guard end > base.text + run.start else { return }
        parts.append(
            ReplyProvenance.Part(
                upstream: target.upstream.description.name, model: target.model, text: base.text + run.start..<end))
    }

    /// Compares the estimates with the token counts in the last line.
    @inline(never)
    func noteTokens(refused: PromptReport?) {
        guard let target, var report = run.report else { return }
        let counts = run.lastLine?.tokens
        let earlier = tools?.tokens ?? (prompt: 0, answer: 0)
        reply.facts.promptTokens = counts?.prompt.map { $0 + earlier.prompt }
        reply.facts.answerTokens = counts?.answer.map { $0 + earlier.answer }
        context.estimates.note(
            counts?.prompt, and: counts?.answer.flatMap(answer), in: &report, of: target,
            for: reply.turn.conversation)
        if let refused {
            context.estimates.suspect(refused, of: target)
        }
        run.report = report
    }

    /// The answer in the form of the next prompt; `nil` if the server counted more than its text.
    private func answer(tokens: Int) -> TokenEstimates.Answer? {
        let end = reply.contentEnd
        guard parts.count == 1, base.total == 0, run.start == 0, end.total == end.text else { return nil }
        return TokenEstimates.Answer(text: end.text, tokens: tokens)
    }
}
