/// The use on a day, or of an owner.
public struct UsageRecord: Sendable, Hashable {
    /// The day (UTC) as `YYYY-MM-DD`, or the beginning of the keys of the owner's conversations.
    public let name: String
    /// The requests, with those whose replies are running.
    public let requests: Int
    /// The tokens of the prompts of ended requests.
    public let promptTokens: Int
    /// The tokens of their answers.
    public let answerTokens: Int
    /// The running requests.
    public let running: Int
    /// The tokens that running requests have reserved.
    public let reservedTokens: Int

    public init(
        name: String, requests: Int, promptTokens: Int, answerTokens: Int, running: Int, reservedTokens: Int
    ) {
        self.name = name
        self.requests = requests
        self.promptTokens = promptTokens
        self.answerTokens = answerTokens
        self.running = running
        self.reservedTokens = reservedTokens
    }
}
