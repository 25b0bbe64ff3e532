#if canImport(FoundationEssentials)
    public import struct FoundationEssentials.Date
#else
    public import struct Foundation.Date
#endif

/// A stored message of a conversation. docs/api.md, `GET /conversations/:c`, describes the members.
public struct Message: Sendable, Hashable, Decodable {
    /// The number in the conversation.
    public let seq: Int
    public let role: String
    public let content: String
    public let images: [String]?
    public let toolCalls: [ToolCall]?
    public let thinking: String?
    public let time: Date
    /// Of a reply.
    public let id: ReplyID?
    public let model: String?
    public let state: ReplyState?
    public var promptEvalCount: Int? { promptCount?.value }
    public var evalCount: Int? { answerCount?.value }
    /// Of a reply that failed.
    public let error: String?
    public let code: String?
    /// The number of the message that it follows; `nil` for the one above it.
    public let after: Int?
    /// Of a prompt with `after`: the reply that it follows.
    public let parent: ReplyID?
    /// Whether it is on the branch that the next prompt follows.
    public let active: Bool

    private let promptCount: LenientCount?
    private let answerCount: LenientCount?

    private enum CodingKeys: String, CodingKey {
        case seq, role, content, images, toolCalls, thinking, time, id, model, state, error, code, after, parent, active
        case promptCount = "promptEvalCount"
        case answerCount = "evalCount"
    }
}
