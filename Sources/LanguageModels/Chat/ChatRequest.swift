/// What an app asks for: messages to be added to its conversation, and the model to answer.
public struct ChatRequest: Sendable, Equatable {
    /// The conversation.
    public var appID: String

    /// The model; empty if the body names none, where that is allowed.
    public var model: String

    /// The new messages, at least one.
    public var messages: [ModelMessage]

    /// Whether the answer is to come piece by piece, which is the default as it is Ollama's.
    public var stream: Bool

    /// The reply that the messages follow, or `start` for the start of the conversation; nothing for its last message.
    public var parent: String?

    /// What becomes of the reply when nobody reads it any more; nothing for the server's default.
    public var onDisconnect: DisconnectPolicy?

    /// What becomes of the reply when its process dies.
    public var onInterrupt = InterruptPolicy.close

    /// Whether places in the queue of a model server are told as events, too; nothing if the body does not say.
    public var queueEvents: Bool?

    /// The members that are none of ours, for the model server: `options`, `format`, `tools`.
    public var passThrough: [RawMember]

    /// The characters an `appID` may have, counted as PostgreSQL counts them: Unicode scalars.
    public static let maximumAppIDLength = 155

    /// The characters a role may have.
    public static let maximumRoleLength = 32

    /// The characters a `parent` may have: those of an id.
    static let maximumParentLength = 36

    /// The messages a request may have.
    public static let maximumMessages = 16_384

    /// The members that are handed on to the model server.
    public static let maximumPassThrough = 64

    /// Makes a request.
    public init(
        appID: String, model: String, messages: [ModelMessage], stream: Bool = true, passThrough: [RawMember] = []
    ) {
        self.appID = appID
        self.model = model
        self.messages = messages
        self.stream = stream
        self.passThrough = passThrough
    }
}
