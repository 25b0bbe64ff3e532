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
    public let time: Duration
    public let outcome: Outcome

    public init(hook: String, event: Hook.Event, time: Duration, outcome: Outcome) {
        (self.hook, self.event, self.time, self.outcome) = (hook, event, time, outcome)
    }
}
