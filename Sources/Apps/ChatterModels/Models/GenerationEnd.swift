import ChatterdBasics

/// How a message ended.
public struct GenerationEnd: Sendable, Hashable {
    /// Why a model ended its message: one of the constants, or the word of a server that has another reason. Keep a `default` in a `switch`.
    public struct Reason: RawRepresentable, Sendable, Hashable, Codable {
        /// It was complete.
        public static let stop = Reason(rawValue: "stop")
        /// The limit of tokens was reached: the message is incomplete.
        public static let length = Reason(rawValue: "length")
        /// The server withheld the rest.
        public static let contentFilter = Reason(rawValue: "contentFilter")
        /// Tools are called.
        public static let toolCalls = Reason(rawValue: "toolCalls")
        /// A client stopped it.
        public static let stopped = Reason(rawValue: "stopped")

        public let rawValue: String

        public init(rawValue: String) {
            self.rawValue = rawValue
        }
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

extension GenerationEnd.Reason: CustomStringConvertible {
    /// The word: `length`.
    public var description: String { rawValue }
}

extension GenerationEnd.Reason {
    /// The longest word of a server that is kept, in bytes.
    private static let wordLimit = 64

    /// The reason that a server has a word for; of none, the message is complete.
    init(word: String?, callsTools: Bool) {
        switch word {
        case nil, "", "stop", "tool_calls", "function_call", "end_of_turn", "end_of_message":
            self = callsTools ? .toolCalls : .stop
        case "length", "max_tokens", "max_output_tokens", "out_of_tokens": self = .length
        case "content_filter": self = .contentFilter
        case let word?: self.init(rawValue: String(decoding: word.utf8.prefix(Self.wordLimit), as: UTF8.self))
        }
    }
}
