/// The limits of the relay; `chatterd help limits` lists those that operators can change.
public struct RelayLimits: Sendable, Equatable {
    /// Further requests to model servers for a reply whose first ones failed before it had begun.
    public var failoverAttempts = 4
    /// Further requests for a reply that broke off in the middle.
    public var rescueAttempts = 2
    /// Timeout of a reply whose model server is unreachable and may be restarting; zero disables the wait.
    public var restartWait: Duration = .seconds(30)
    /// Whether a complete answer is checked against the form that its request asks for.
    public var checksForms = true
    /// The number of requests of a reply in which the model may call tools of the server. The request after them has no tools.
    public var toolRounds = 8
    /// The longest `Retry-After` of a model server after which the reply asks it again.
    public var longestRetryAfter: Duration = .seconds(20)
    /// Time for which a reply waits for an answer to a call of a tool that needs an approval.
    public var approvalTimeout: Duration = .seconds(600)
    /// Interval of the queries for such answers. A signal comes at once, but may be lost.
    public var approvalPoll: Duration = .seconds(5)
    /// Replies of the process that may run or wait at one time.
    public var maximumReplies = 10_000
    /// Those of one app: half of them, and one at least, so that no app can keep others from being answered.
    var repliesOfApp: Int { (maximumReplies + 1) / 2 }
    /// Prompts of one conversation that may wait while another one is answered.
    public var maximumWaitingTurns = 16
    /// Time for which a reply continues after its last reader has left; zero cancels it at once.
    public var disconnectGrace: Duration = .seconds(30)
    /// Time for which an operation is repeated while the store is unavailable.
    public var storeRetryTimeout: Duration = .seconds(10)
    /// Interval of the queries for the end of a turn that another process runs.
    public var turnPoll: Duration = .milliseconds(200)
    /// Interval at which the text of running replies is journalled and replies of other processes are read.
    public var journalTick: Duration = .milliseconds(200)
    /// The age at which a reply is journalled for the first time. Most replies end before.
    public var journalAge: Duration = .milliseconds(50)
    /// Interval at which the store looks up whether this process still owns its running replies.
    public var ownerCheckInterval: Duration = .seconds(2)
    /// Bytes of a reply that are journalled without waiting for the tick.
    public var journalUrgency = 1 << 20
    /// Interval of the queries for slots of model servers while replies wait for one.
    public var slotPollInterval: Duration = .milliseconds(50)
    /// Interval of the queries for queue positions.
    public var slotSurveyInterval: Duration = .seconds(1)
    /// Time for which the only reader of a reply may block a model server with slots while other replies wait for one.
    public var pausedSlotTimeout: Duration = .seconds(5)
    /// Time for which a request that stops a reply waits for its end.
    public var stopTimeout: Duration = .seconds(2)
    /// Timeout of a stored prompt that waits for memory for its history.
    public var memoryTimeout: Duration = .seconds(10)

    /// Creates limits with their defaults.
    public init() {}
}
