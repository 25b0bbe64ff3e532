/// The limits of the relay; `chatterd help limits` lists them.
public struct RelayLimits: Sendable, Equatable {
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

    /// Makes the limits with their defaults.
    public init() {}
}
