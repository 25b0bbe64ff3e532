import ChatterdBasics

/// The tokens of a request, or of all requests of a reply together.
public struct Usage: Sendable, Hashable, Codable {
    public var promptTokens: Int
    public var answerTokens: Int

    public init(promptTokens: Int, answerTokens: Int) {
        self.promptTokens = promptTokens
        self.answerTokens = answerTokens
    }

    static func + (left: Usage, right: Usage) -> Usage {
        Usage(
            promptTokens: PeerCount.sum(left.promptTokens, right.promptTokens),
            answerTokens: PeerCount.sum(left.answerTokens, right.answerTokens))
    }
}
