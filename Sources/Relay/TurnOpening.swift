import LanguageModels

/// What is committed when a prompt is accepted.
public struct TurnOpening: Sendable {
    /// The conversation.
    public var appID: String
    /// The new messages.
    public var prompts: [ModelMessage]
    /// The name of the reply that is to come.
    public var id: ReplyID
    /// The model that is asked.
    public var model: String
    /// The members of the request for the model server as JSON text without braces, for who must ask again; may be empty.
    public var options: [UInt8]
    /// What the prompts follow; nothing for the last message of the conversation.
    public var parent: TurnParent?
    /// The client's name for this request, by which it is known again.
    public var key: IdempotencyKey?
    /// What is done when the process that makes the reply dies.
    public var onInterrupt: InterruptPolicy

    /// Makes an opening.
    public init(
        appID: String, prompts: [ModelMessage], id: ReplyID, model: String, options: [UInt8] = [],
        parent: TurnParent? = nil, key: IdempotencyKey? = nil, onInterrupt: InterruptPolicy = .close
    ) {
        self.appID = appID
        self.prompts = prompts
        self.id = id
        self.model = model
        self.options = options
        self.parent = parent
        self.key = key
        self.onInterrupt = onInterrupt
    }
}

/// What a prompt follows that does not follow the last message of its conversation.
public enum TurnParent: Sendable, Hashable {
    /// What `/llmprep` seeded, and nothing else.
    case start
    /// The turn of a reply.
    case reply(ReplyID)
}

/// A client's name for a request (`Idempotency-Key`), with the digest of the body it came with.
public struct IdempotencyKey: Sendable, Hashable {
    /// The name, as the client sent it.
    public var text: String
    /// SHA-256 of the request's body.
    public var digest: [UInt8]

    /// Makes a key.
    public init(text: String, digest: [UInt8]) {
        self.text = text
        self.digest = digest
    }
}

/// What came of an opening.
public enum TurnOpened: Sendable {
    /// The prompts are committed.
    case opened(Turn, TurnHistory)
    /// The same request was accepted before; nothing was stored.
    case known(ReplyID)
}

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
