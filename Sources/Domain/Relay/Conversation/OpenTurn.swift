import ChatterdChat
import ChatterdIdentity

/// An open turn with the history from which its reply is generated: of a new prompt, of another answer to the same prompt, or of a
/// dead process.
public struct OpenTurn: Sendable {
    public var turn: Turn
    /// The id of its reply.
    public var id: ReplyID
    /// The requested model.
    public var model: String
    /// The members of the request for the model server as JSON text without braces.
    public var options: [UInt8]
    /// The current attempt at the reply, starting with 1.
    public var attempt: Int
    /// The history of the turn.
    public var history: TurnHistory
    /// The rest of the limits of the principal after the request that opened the turn.
    public var quota: Quota?

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
