#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A request for an answer: the new messages of a conversation. The server knows the earlier ones.
///
/// An app may store it (`Codable`) until the server has accepted it: sent again after a restart, it gets the same reply.
public struct Prompt: Sendable, Hashable, Codable {
    /// The message that the new ones follow.
    public enum Parent: Sendable, Hashable {
        /// This reply: the turns after it leave the branch.
        case reply(ReplyID)
        /// The beginning of the conversation.
        case start
    }

    /// The treatment of the prompt while another one of the conversation is being answered.
    public enum BusyPolicy: String, Sendable, Hashable, Codable {
        case wait, refuse, stop, replace
    }

    /// The treatment of an answer without readers.
    public enum DisconnectPolicy: Sendable, Hashable {
        /// It is generated to its end.
        case finish
        /// It ends at once.
        case cancel
        /// It ends after this time, in whole seconds.
        case grace(Duration)
    }

    /// The treatment of the answer when the server process that generates it dies.
    public enum InterruptPolicy: String, Sendable, Hashable, Codable {
        /// The text so far is kept, and the answer fails.
        case close
        /// Another process asks the model again: a `reset` precedes the new text.
        case regenerate
    }

    /// The new messages, the last one of role `user` as a rule.
    public var messages: [PromptMessage]
    /// The name of the conversation; `nil` for the default conversation of the app.
    public var conversation: String?
    /// The model; `nil` for the server's default.
    public var model: String?
    /// The place of a new branch; `nil` for the end of the conversation.
    public var parent: Parent?
    /// `nil` for `wait`.
    public var whenBusy: BusyPolicy?
    /// `nil` for the server's setting. A client that resumes wants `finish`.
    public var onDisconnect: DisconnectPolicy?
    /// `nil` for `close`.
    public var onInterrupt: InterruptPolicy?
    /// Whether the model gets the tools of the server, and those that the conversation keeps (`/llmtools`); `nil` for no.
    public var usesTools: Bool?
    /// Further members of the request: `options`, `tools`, `format`, `think` …
    public var members: [String: JSONValue]
    /// Further members as JSON texts, which are sent as they are. The keys of a schema keep their order, in which the model generates the
    /// members.
    public var rawMembers: [String: String] = [:]
    /// The name of this request: the server stores a repeated request once. Keep it together with the prompt until the answer is
    /// complete, and a repetition after a restart of the app gets the same reply.
    public var idempotencyKey: String

    public init(
        messages: [PromptMessage], in conversation: String? = nil, model: String? = nil, parent: Parent? = nil,
        members: [String: JSONValue] = [:], idempotencyKey: String = UUID().uuidString
    ) {
        self.messages = messages
        self.conversation = conversation
        self.model = model
        self.parent = parent
        self.members = members
        self.idempotencyKey = idempotencyKey
        onDisconnect = .finish
    }

    /// A prompt of one text.
    public init(
        _ text: String, in conversation: String? = nil, model: String? = nil, parent: Parent? = nil,
        idempotencyKey: String = UUID().uuidString
    ) {
        self.init(
            messages: [PromptMessage(text)], in: conversation, model: model, parent: parent,
            idempotencyKey: idempotencyKey)
    }
}

extension Prompt.Parent: Codable {
    private static let startWord = "start"

    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        self = text == Self.startWord ? .start : .reply(ReplyID(text))
    }

    /// Encodes the word or the id of the API.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .reply(let id): try container.encode(id)
        case .start: try container.encode(Self.startWord)
        }
    }
}

extension Prompt.DisconnectPolicy: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let seconds = try? container.decode(Int64.self) {
            self = .grace(.seconds(seconds))
            return
        }
        switch try container.decode(String.self) {
        case "finish": self = .finish
        case "cancel": self = .cancel
        default: throw DecodingError.dataCorruptedError(in: container, debugDescription: "no policy of this version")
        }
    }

    /// Encodes the word or the seconds of the API.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .finish: try container.encode("finish")
        case .cancel: try container.encode("cancel")
        case .grace(let time): try container.encode(time.components.seconds)
        }
    }
}
