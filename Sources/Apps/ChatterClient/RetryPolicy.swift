/// How long a client tries to reach its server. The delay between two attempts doubles, from `first` to `longest`.
public struct RetryPolicy: Sendable, Hashable {
    /// The delay after the first failure.
    public var first: Duration
    /// The limit of a delay.
    public var longest: Duration
    /// The limit of all delays until the server has accepted a prompt or opened a feed.
    public var start: Duration
    /// The limit of all delays without a new event, once it has.
    public var resumption: Duration

    /// Creates a policy; the default gives up after 10 seconds at the start, and after 10 minutes in an answer.
    public init(
        first: Duration = .milliseconds(250), longest: Duration = .seconds(5), start: Duration = .seconds(10),
        resumption: Duration = .seconds(600)
    ) {
        self.first = first
        self.longest = longest
        self.start = start
        self.resumption = resumption
    }
}
