import ChatterdBasics

/// A message to a hook, and what became of it, for metrics and the log.
public struct HookCall: Sendable {
    public enum Outcome: Sendable {
        case allowed
        case refused
        case replaced
        /// The hook has taken the end of a reply.
        case delivered
        case failed(reason: String)

        /// The outcome as a word for metrics.
        public var word: String {
            switch self {
            case .allowed: "allowed"
            case .refused: "refused"
            case .replaced: "replaced"
            case .delivered: "delivered"
            case .failed: "failed"
            }
        }
    }

    public let hook: String
    public let event: Hook.Event
    private let start: Instant
    public private(set) var time = Duration.zero
    public private(set) var outcome = Outcome.allowed

    /// A message that is sent.
    public init(hook: String, event: Hook.Event, from start: Instant) {
        (self.hook, self.event, self.start) = (hook, event, start)
    }

    public mutating func end(_ outcome: Outcome, at now: Instant) {
        self.outcome = outcome
        time = now - start
    }
}
