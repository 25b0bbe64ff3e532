import ChatterdTracing

/// A request of an app: messages to add to its conversation, and the model to answer.
public struct ChatRequest: Sendable, Equatable {
    /// The name of the app; `nil` if the body has none, because the credential names the app.
    public var appID: String?

    /// The name of the conversation among those of its owner; `nil` for the default conversation.
    public var conversation: String?

    /// The model; empty if the body of an `/llmprep` has none.
    public var model: String

    /// The new messages, at least one.
    public var messages: [ModelMessage]

    /// Whether the answer is streamed, which is the default, as in Ollama.
    public var stream: Bool

    /// The id of the reply that the messages follow, or `start` for the start of the conversation; `nil` for its last message.
    public var parent: String?

    /// The policy for a reply without readers; `nil` for the server's default.
    public var onDisconnect: DisconnectPolicy?

    /// The policy for a reply whose process dies; `nil` for the default, which is `close` for a request without tools of the server.
    public var onInterrupt: InterruptPolicy?

    /// The policy for a prompt that comes while another one of the conversation is being answered.
    public var whenBusy = BusyPolicy.wait

    /// Whether a conversation that the request begins is a single request, which is in no list of conversations until something follows it.
    public var isSingle = false

    /// The digest by which a repetition of the request is recognised; `nil` if its client does not count repetitions.
    public var digest: HistoryDigest?

    /// Whether queue positions are sent as events too; `nil` if the body does not have the member.
    public var queueEvents: Bool?

    /// Whether calls of tools of the server are sent as events; `nil` if the body does not have the member.
    public var stepEvents: Bool?

    /// The members for the model server: `options`, `format`, `tools`.
    public var passThrough: [RawMember]

    /// The span of the request, which is stored with the turn; `nil` without a trace.
    public var trace: TraceContext?

    /// The tools that the conversation keeps from now on, as a JSON array, which is among the members for the model server as well; `nil` for
    /// no change.
    public var newTools: [UInt8]?

    /// The limit of a role, in Unicode scalars.
    public static let maximumRoleLength = 32

    /// The limit of a `parent`, in Unicode scalars: the length of an id.
    static let maximumParentLength = 36

    /// The limit of messages in a request.
    public static let maximumMessages = 16_384

    /// The limit of images in a message.
    public static let maximumImages = 256

    /// The limit of members for the model server.
    public static let maximumPassThrough = 64
    /// The limit of members of `options`.
    public static let maximumOptions = 256
    /// The limit of the JSON text of `options`, in bytes.
    public static let maximumOptionsSize = 256 << 10

    /// The limit of the tools that a conversation keeps.
    public static let maximumTools = 128
    /// The limit of the JSON text of the tools that a conversation keeps, in bytes: each turn of the conversation stores them.
    public static let maximumToolsSize = 64 << 10
    /// The limit of the name of a tool that a conversation keeps, in bytes.
    public static let maximumToolName = 128
    /// The name of the member with tools.
    public static let toolsName = "tools"

    /// The members that are stored with the turn: those for the model server, and the span.
    public var storedMembers: [RawMember] { trace.map { passThrough + [RawMember(trace: $0)] } ?? passThrough }

    public init(
        appID: String?, model: String, messages: [ModelMessage], stream: Bool = true, passThrough: [RawMember] = []
    ) {
        self.appID = appID
        self.model = model
        self.messages = messages
        self.stream = stream
        self.passThrough = passThrough
    }
}

/// The policy for a reply whose process dies.
public enum InterruptPolicy: String, Sendable, CaseIterable {
    /// The reply ends as interrupted, with its text so far.
    case close
    /// Another process restarts the reply under the same id.
    case regenerate
}

/// The policy for a prompt that comes while another one of its conversation is being answered.
public enum BusyPolicy: String, Sendable, CaseIterable {
    /// The prompt waits for the end of the running replies.
    case wait
    /// The prompt is refused, and not stored.
    case refuse
    /// The running replies are stopped and keep their text. The prompt follows them.
    case stop
    /// The running replies are stopped. The prompt takes the place of the first of them, whose turn leaves the branch.
    case replace
}

/// The policy for a reply without readers.
public enum DisconnectPolicy: Sendable, Hashable {
    /// The reply is generated to its end.
    case finish
    /// The reply is cancelled unless a reader returns within the duration; zero cancels it at once.
    case cancel(after: Duration)
}
