import ChatterdBasics

/// What is known of one reply without its text, for the metrics and the log. Confined to the shard of the reply.
public final class ReplyFacts {
    /// When the whole request was here.
    public let acceptedAt: Instant
    /// The stages of the reply; `nil` unless its request has a trace.
    public let trace: ReplyTrace?
    /// The model server that was asked last; `nil` before the first request.
    public private(set) var upstream: String?
    /// The name of the model there.
    public private(set) var model = ""
    /// The same name if the server is configured for it or lists it, else `other`.
    public private(set) var knownModel = ""
    /// The number of requests to model servers.
    public private(set) var requests = 0
    /// The tokens of the prompt, as the model server counts them.
    public var promptTokens: Int?
    /// The tokens of the answer, as the model server counts them.
    public var answerTokens: Int?
    /// From the whole request to the first piece of the answer.
    public private(set) var timeToFirstToken: Duration?

    /// The wait for earlier turns of the conversation.
    public private(set) var turnWait = Duration.zero
    /// The wait for slots of model servers.
    public private(set) var queueWait = Duration.zero
    /// The time of requests that failed, and of the delays after them.
    public private(set) var retries = Duration.zero
    /// When the prompt was committed.
    public let storedAt: Instant
    private var sentAt: Instant
    /// `queueWait` at the last request.
    private var queueWaitBefore = Duration.zero

    init(acceptedAt: Instant, storedAt: Instant, trace: ReplyTrace?) {
        (self.acceptedAt, self.storedAt, self.trace) = (acceptedAt, storedAt, trace)
        sentAt = acceptedAt
    }

    /// From the whole request to the commit of the prompt.
    public var storeTime: Duration { storedAt - acceptedAt }

    /// Records the wait for earlier turns of the conversation.
    func waitedForTurns(_ time: Duration) { turnWait += time }

    /// Records the wait for a slot.
    func waitedForSlot(_ time: Duration) { queueWait += time }

    /// Records a request to a model server.
    func asked(_ upstream: String, model: String, knownModel: String, at now: Instant) {
        if requests > 0 {
            retries += now - sentAt - (queueWait - queueWaitBefore)
        }
        (self.upstream, self.model, self.knownModel) = (upstream, model, knownModel)
        requests += 1
        sentAt = now
        queueWaitBefore = queueWait
    }

    /// Records the first piece of the answer.
    func answered(at now: Instant) -> FirstTokenParts {
        let total = now - acceptedAt
        timeToFirstToken = total
        let upstream = now - sentAt
        return FirstTokenParts(
            chatterd: total - turnWait - queueWait - retries - upstream, turn: turnWait, queue: queueWait,
            retry: retries,
            upstream: upstream)
    }

    /// What the client learns of the times.
    public var timings: ReplyTimings {
        ReplyTimings(timeToFirstToken: timeToFirstToken, queue: queueWait, attempts: requests)
    }

    /// The mean time of the tokens after the first one; `nil` for less than two.
    public func timePerToken(at now: Instant) -> Duration? {
        guard let timeToFirstToken, let answerTokens, answerTokens > 1 else { return nil }
        return (now - acceptedAt - timeToFirstToken) / (answerTokens - 1)
    }
}
