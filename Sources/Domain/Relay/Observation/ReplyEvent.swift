import ChatterdBasics
import ChatterdChat

/// What happens to the replies of a shard, for the metrics and the log. `ReplyContext.observe` gets it on the shard of the reply; it must not
/// block. None of it happens for each token.
public enum ReplyEvent {
    /// Why a reply began.
    public enum Origin: String, CaseIterable {
        /// A prompt was committed.
        case prompt
        /// A client wants another answer to a prompt.
        case another
        /// Another process has left the reply.
        case adopted
    }

    /// How a reply ended here without an end.
    public enum Departure: String, CaseIterable {
        /// This process stops, and others may go on.
        case handedOver = "handed_over"
        /// Another process has adopted or closed the reply, because it considered this one dead.
        case fenced
        /// The conversation was replaced or deleted.
        case replaced
        /// The store has not confirmed the end.
        case unconfirmed
    }

    /// What a further request to a model server is for.
    public enum Phase: String, CaseIterable {
        /// The same server again.
        case retried
        /// Another server, before the answer began.
        case before
        /// Another server continues the text.
        case continued
        /// The answer begins again.
        case restarted
        /// The answer is complete, and does not have the form that the request asks for.
        case repaired
    }

    case began(Origin)
    /// A request to a model server ended.
    case requestEnded(upstream: String, RequestOutcome)
    /// A request failed, and another one follows.
    case failover(from: String, to: String, Phase, RequestOutcome)
    /// The reply has a slot after a wait.
    case queued(upstream: String, Duration)
    /// The first piece of the answer has come.
    case answered(ReplyFacts, FirstTokenParts)
    /// The readers have the stored end.
    case ended(ReplyFacts, ReplyEnding)
    /// The reply ended here without an end.
    case left(ReplyFacts, Departure)
}

/// How a request to a model server ended.
public enum RequestOutcome: Sendable, Equatable {
    case complete
    /// The reply was stopped, or its server was no longer needed.
    case cancelled
    case failed(ModelError.Code)

    /// All outcomes.
    public static var all: [RequestOutcome] {
        [.complete, .cancelled] + ModelError.Code.allCases.map(RequestOutcome.failed)
    }

    /// A word of a closed set.
    public var word: String {
        switch self {
        case .complete: "ok"
        case .cancelled: "cancelled"
        case .failed(let code): code.rawValue
        }
    }
}

/// The parts of the time from a whole request to the first piece of its answer. Their sum is that time.
public struct FirstTokenParts: Sendable, Equatable {
    /// The rest: hooks that check the prompt, storing it, reading the history, choosing a server.
    public var chatterd: Duration
    /// Waiting for earlier turns of the conversation.
    public var turn: Duration
    /// Waiting for slots of model servers.
    public var queue: Duration
    /// Requests that failed, and the delays after them.
    public var retry: Duration
    /// From the last request to the first piece, which hooks that check the answer hold back.
    public var upstream: Duration

    /// The whole time.
    public var total: Duration { chatterd + turn + queue + retry + upstream }
}
