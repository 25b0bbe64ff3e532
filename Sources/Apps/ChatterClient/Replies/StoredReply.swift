/// A reply as the server has it at the moment.
public struct StoredReply: Sendable, Hashable, Decodable {
    /// The answer.
    public struct Answer: Sendable, Hashable, Decodable {
        public let content: String
        public let thinking: String?
        public let toolCalls: [ToolCall]?
    }

    /// A part of the text, and the model server that made it. The range counts bytes in UTF-8.
    public struct Part: Sendable, Hashable, Decodable {
        public let upstream: String
        public let model: String
        public let from: Int
        public let to: Int
    }

    public let id: ReplyID
    public let model: String
    public let state: ReplyState
    public let message: Answer
    /// Whether it is over.
    public let done: Bool
    public let parts: [Part]?
    /// Of a reply that failed.
    public let error: String?
    public let code: String?
}
