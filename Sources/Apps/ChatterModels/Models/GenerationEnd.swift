/// How a message ended.
public struct GenerationEnd: Sendable, Hashable {
    /// Why a model ended its message.
    public enum Reason: String, Sendable, Hashable, Codable {
        /// It was complete.
        case stop
        /// The limit of tokens was reached: the message is incomplete.
        case length
        /// The server withheld the rest.
        case contentFilter
        /// Tools are called.
        case toolCalls
        /// A client stopped it.
        case stopped
    }

    public var reason: Reason
    /// The model that answered, as its server names it.
    public var model: String?
    public var usage: Usage?

    public init(reason: Reason, model: String? = nil, usage: Usage? = nil) {
        self.reason = reason
        self.model = model
        self.usage = usage
    }
}
