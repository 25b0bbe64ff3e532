import ChatterdBasics
import ChatterdChat
import ChatterdIdentity

/// Asks the operator's hooks about prompts and answers. Confined to its shard.
public protocol HookRunner: AnyObject {
    /// Whether a hook sees the prompts of an app before they are stored.
    func reviewsPrompts(of app: String) -> Bool
    /// Whether a hook sees the answers of an app before clients do.
    func reviewsAnswers(of app: String) -> Bool

    /// Counts the memory of answers that are held.
    var memory: MemoryBudget { get }

    /// The messages to store in place of those of a request; the same ones without a change.
    ///
    /// - Throws: `promptRefused`, `hookFailed`.
    func review(_ request: ChatRequest, in conversation: ConversationKey) async throws(RelayError) -> [ModelMessage]

    /// Asks about an answer.
    ///
    /// - Parameter completion: is called once, on the shard and after this call has returned, unless the question is cancelled: with the text to
    ///   send in place of the answer, or `nil` for the answer as it is. It fails with `answerRefused` or `hookFailed`.
    /// - Returns: cancels the question.
    func review(_ answer: ReviewedAnswer, completion: @escaping (Result<[UInt8]?, RelayError>) -> Void) -> () -> Void
}

/// An answer of a model, which no client has seen.
public struct ReviewedAnswer: Sendable {
    public let reply: ReplyID
    public let conversation: ConversationKey
    public let model: String
    /// In UTF-8.
    public let text: [UInt8]
    /// The thoughts of the model, in UTF-8.
    public let thinking: [UInt8]
    /// The calls of tools: JSON arrays in Ollama's form.
    public let toolCalls: [[UInt8]]

    /// Its size, in bytes.
    public var size: Int { text.count + thinking.count + toolCalls.reduce(0) { $0 + $1.count } }

    public init(
        reply: ReplyID, conversation: ConversationKey, model: String, text: [UInt8], thinking: [UInt8] = [],
        toolCalls: [[UInt8]] = []
    ) {
        self.reply = reply
        self.conversation = conversation
        self.model = model
        self.text = text
        self.thinking = thinking
        self.toolCalls = toolCalls
    }
}
