import ChatterdBasics

/// What is known of one reply without its text, for the metrics and the log. Confined to the shard of the reply.
public final class ReplyFacts {
    /// When the whole request was here.
    public let acceptedAt: Instant
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

    private var turnWait = Duration.zero
    private var queueWait = Duration.zero
    private var retries = Duration.zero
    private var sentAt: Instant
    /// `queueWait` at the last request.
    private var queueWaitBefore = Duration.zero

    init(acceptedAt: Instant) {
        self.acceptedAt = acceptedAt
        sentAt = acceptedAt
    }

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

    /// The mean time of the tokens after the first one; `nil` for less than two.
    public func timePerToken(at now: Instant) -> Duration? {
        guard let timeToFirstToken, let answerTokens, answerTokens > 1 else { return nil }
        return (now - acceptedAt - timeToFirstToken) / (answerTokens - 1)
    }
}
