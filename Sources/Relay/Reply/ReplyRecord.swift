/// What the store knows of a reply, apart from its text.
public struct ReplyRecord: Sendable {
    /// Its name.
    public var id: ReplyID
    /// The turn that it closes.
    public var turn: Turn
    /// The model that was asked for.
    public var model: String
    /// What became of it; nothing while it is being made.
    public var state: ReplyState?
    /// How often it was begun.
    public var attempt: Int
    /// Whether it is being made, but by a process that shows no sign of life any more.
    public var isAbandoned: Bool
    /// When its prompt was committed, in microseconds since 1970.
    public var createdAt: Int64
    /// When it ended, in microseconds since 1970.
    public var finishedAt: Int64?
    /// How it came about, as members of a JSON object without braces; empty when that is not known.
    public var account: [UInt8] = []

    /// Makes a record.
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
