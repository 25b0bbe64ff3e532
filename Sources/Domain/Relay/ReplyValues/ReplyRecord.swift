/// The data of a reply in the store, without its text.
public struct ReplyRecord: Sendable {
    /// The id of the reply.
    public var id: ReplyID
    /// The turn that it closes.
    public var turn: Turn
    /// The requested model.
    public var model: String
    /// The final state; `nil` while the reply runs.
    public var state: ReplyState?
    /// The number of the current attempt, starting with 1.
    public var attempt: Int
    /// Whether the reply has no end, and its process is dead.
    public var isAbandoned: Bool
    /// The time of the commit of the prompt, in microseconds since 1970.
    public var createdAt: Int64
    /// `createdAt` in nanoseconds; the nearest time that fits, for a row that was written by hand.
    public var createdAtNanoseconds: Int64 {
        let (time, overflows) = createdAt.multipliedReportingOverflow(by: 1_000)
        return overflows ? (createdAt < 0 ? .min : .max) : time
    }

    /// The time of the end, in microseconds since 1970; `nil` while the reply runs.
    public var finishedAt: Int64?
    /// The provenance as members of a JSON object without braces; empty if unknown.
    public var provenance: [UInt8] = []

    public init(
        id: ReplyID, turn: Turn, model: String, state: ReplyState?, attempt: Int, isAbandoned: Bool, createdAt: Int64,
        finishedAt: Int64?
    ) {
        self.id = id
        self.turn = turn
        self.model = model
        self.state = state
        self.attempt = attempt
        self.isAbandoned = isAbandoned
        self.createdAt = createdAt
        self.finishedAt = finishedAt
    }
}
