import ChatterdRelay

/// The events of a service, as words.
final class ObservedEvents {
    private(set) var words: [String] = []
    /// The parts of the time to the first token of each reply.
    private(set) var parts: [FirstTokenParts] = []
    /// The facts of each reply at its end.
    private(set) var facts: [ReplyFacts] = []

    func note(_ event: ReplyEvent) {
        switch event {
        case .began(let origin): words.append("began \(origin.rawValue)")
        case .requestEnded(let upstream, let outcome): words.append("\(upstream) \(outcome.word)")
        case .failover(let from, let to, let phase, let outcome):
            words.append("\(from) to \(to) \(phase.rawValue) \(outcome.word)")
        case .queued(let upstream, let time): words.append("queued at \(upstream) for \(time)")
        case .answered(_, let parts):
            words.append("answered")
            self.parts.append(parts)
        case .ended(let facts, let ending):
            words.append("ended \(ending.state.rawValue)")
            self.facts.append(facts)
        case .left(let facts, let departure):
            words.append("left \(departure.rawValue)")
            self.facts.append(facts)
        }
    }
}
