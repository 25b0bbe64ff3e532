import ChatterdLanguageModels

/// The limits of the relay; `chatterd help limits` lists them.
public struct RelayLimits: Sendable, Equatable {
    /// Further requests to model servers for a reply whose first ones failed before it had begun.
    public var failoverAttempts = 4
    /// Further requests for a reply that broke in the middle.
    public var rescueAttempts = 2
    /// Timeout for a model server that may be restarting; zero to disable the wait.
    public var restartWait: Duration = .seconds(30)
    /// The longest time that a model server may ask to be left alone (`Retry-After`) and still be waited for.
    public var longestRetryAfter: Duration = .seconds(20)
    /// Replies that may be running or waiting in the process.
    public var replies = 10_000
    /// Prompts of one conversation that may wait while another is answered.
    public var waitingTurns = 16
    /// How long a reply goes on after its client has left; zero cancels at once.
    public var disconnectGrace: Duration = .seconds(30)
    /// How long a finished answer waits for a store that is away.
    public var storePatience: Duration = .seconds(10)
    /// How often a turn looks for the end of one that another process runs.
    public var turnPoll: Duration = .milliseconds(200)
    /// How often what replies have grown by is journalled, and how often replies of other processes are read.
    public var journalTick: Duration = .milliseconds(200)
    /// The age at which a reply is journalled at first: most are over before.
    public var journalAge: Duration = .milliseconds(50)
    /// The bytes of a reply that make it journalled before the tick.
    public var journalUrgency = 1 << 20
    /// How often a process looks whether its replies that wait have been given slots.
    public var slotLook: Duration = .milliseconds(50)
    /// How often it looks at their places.
    public var slotSurvey: Duration = .seconds(1)
    /// Time for which the only reader of a reply may block a model server with slots, while other replies wait for one.
    public var heldSlot: Duration = .seconds(5)
    /// How long whoever stops a reply waits for its end.
    public var stopPatience: Duration = .seconds(2)

    /// Timeout of a stored prompt that waits for memory for its history.
    public var memoryTimeout: Duration = .seconds(10)

    /// Makes the limits with their defaults.
    public init() {}
}
