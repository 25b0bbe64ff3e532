import ChatterdLanguageModels

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
