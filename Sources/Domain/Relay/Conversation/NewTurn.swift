import ChatterdChat
import ChatterdIdentity

/// A turn to open: the data that is committed when a prompt is accepted.
public struct NewTurn: Sendable {
    /// The conversation.
    public var conversation: ConversationKey
    /// The new messages.
    public var prompts: [ModelMessage]
    /// The id of the reply.
    public var id: ReplyID
    /// The requested model.
    public var model: String
    /// The members of the request for the model server as JSON text without braces, for a process that adopts the reply; may be
    /// empty.
    public var options: [UInt8]
    /// The turn that the prompts follow; `nil` for the last one of the conversation.
    public var parent: TurnParent?
    /// The client's name for the request, which detects repetitions.
    public var key: IdempotencyKey?
    /// The treatment of the reply if its process dies.
    public var onInterrupt: InterruptPolicy
    /// The treatment of replies of the conversation that are running.
    public var whenBusy: BusyPolicy
    /// Whether a conversation that the turn begins is in no list until another turn follows.
    public var isSingle = false
    /// The digest by which a repetition of the request is recognised; `nil` for none.
    public var digest: HistoryDigest?
    /// The tools that the conversation keeps from now on, as a JSON array; an empty array for none, `nil` for no change.
    public var newTools: [UInt8]?
    /// The meter of the request; `nil` if it counts against no limit.
    public var meter: Meter?
    /// How far back the history is read; `nil` for all of it.
    public var reach: HistoryReach?

    public init(
        conversation: ConversationKey, prompts: [ModelMessage], id: ReplyID, model: String, options: [UInt8] = [],
        parent: TurnParent? = nil, key: IdempotencyKey? = nil, onInterrupt: InterruptPolicy = .close,
        whenBusy: BusyPolicy = .wait,
        meter: Meter? = nil, reach: HistoryReach? = nil
    ) {
        self.conversation = conversation
        self.prompts = prompts
        self.id = id
        self.model = model
        self.options = options
        self.parent = parent
        self.key = key
        self.onInterrupt = onInterrupt
        self.whenBusy = whenBusy
        self.meter = meter
        self.reach = reach
    }
}

/// The parent of a prompt that does not follow the last turn of its conversation.
public enum TurnParent: Sendable, Hashable {
    /// The messages that `/llmprep` seeded, without any turn.
    case start
    /// The turn of a reply.
    case reply(ReplyID)
}

/// The result of opening a turn.
public enum OpeningOutcome: Sendable {
    /// The prompts are committed. The quota is that of a principal with limits.
    case opened(Turn, TurnHistory, Quota?)
    /// The same request was accepted before. The store is unchanged.
    case known(ReplyID)
}
