import ChatterdLanguageModels

/// A turn whose reply has to be made from what the store knows of it: another answer to the same prompt, or the reply of a
/// dead process.
public struct ReopenedTurn: Sendable {
    /// The turn.
    public var turn: Turn
    /// The name of its reply.
    public var id: ReplyID
    /// The model that is asked.
    public var model: String
    /// The members of the request for the model server as JSON text without braces.
    public var options: [UInt8]
    /// How often the reply was begun, this time included.
    public var attempt: Int
    /// What it has to go on.
    public var history: TurnHistory

    /// Makes a turn.
    public init(
        turn: Turn, id: ReplyID, model: String, options: [UInt8], attempt: Int, history: TurnHistory
    ) {
        self.turn = turn
        self.id = id
        self.model = model
        self.options = options
        self.attempt = attempt
        self.history = history
    }
}
