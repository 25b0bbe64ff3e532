/// The end of an answer: what the model server counted.
public struct ReplyStatistics: Sendable, Hashable, Codable {
    /// The model that answered.
    public let model: String
    /// The reason why the answer ended: `stop`, `length`, `content_filter` …; `nil` if the model server gave none.
    public let reason: String?
    /// The tokens of the prompt with its history.
    public let promptTokens: Int?
    /// The tokens of the answer.
    public let answerTokens: Int?
    /// Whether the reply was stopped by a client.
    public let wasStopped: Bool
    private let refusal: Bool?

    /// Whether the model declined to answer: the text says why.
    public var isRefusal: Bool { refusal ?? false }

    public init(
        model: String, reason: String? = nil, promptTokens: Int? = nil, answerTokens: Int? = nil,
        wasStopped: Bool = false, isRefusal: Bool = false
    ) {
        self.model = model
        self.reason = reason
        self.promptTokens = promptTokens
        self.answerTokens = answerTokens
        self.wasStopped = wasStopped
        // Stored answers of before 0.2 do not have it.
        refusal = isRefusal ? true : nil
    }
}
