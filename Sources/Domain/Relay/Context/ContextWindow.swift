import ChatterdChat

/// The context of a model for one prompt, in tokens.
public struct ContextWindow: Sendable, Equatable {
    /// The assumed bytes per token before a server has counted any; a low value for English text.
    public static let usualBytesPerToken = 3.5
    /// The assumed tokens of a picture. Models count between some hundred and some thousand.
    public static let usualImageTokens = 1_024

    /// The size of the context: the tokens of prompt and answer together; `nil` if unknown.
    public var tokens: Int?
    /// The assumed bytes per token, learned from the counts of servers.
    public var bytesPerToken: Double
    /// Whether `bytesPerToken` is learned.
    public var isMeasured = false
    /// The tokens reserved for the answer.
    public var reserve: Int
    /// The bytes that are sent in addition to the messages: tools, and the beginning of the answer.
    public var overheadBytes = 0
    /// Whether a prompt that does not fit is refused; otherwise its oldest turns are left out.
    public var refusesTruncation = false
    /// The estimated tokens of a prompt that the server has refused; the next prompt is smaller. `nil` without a refusal.
    public var refused: Int?

    /// The server's last count of this conversation.
    var counted: ConversationCounts.Count?

    public init(tokens: Int?, bytesPerToken: Double = usualBytesPerToken, reserve: Int) {
        self.tokens = tokens
        self.bytesPerToken = bytesPerToken
        self.reserve = reserve
    }

    /// The estimated tokens of a prompt, at least the count of its beginning.
    func tokens(of size: PromptSize) -> Int {
        let usual = size.tokens(bytesPerToken: bytesPerToken)
        return counted.map { max(usual, size.tokens(bytesPerToken: bytesPerToken, behind: $0)) } ?? usual
    }

    /// The tokens that a prompt is trimmed to; `nil` if it is not trimmed.
    var room: Int? {
        let room = tokens.map { $0 - reserve }
        // The known size of the context does not explain the refusal, so the prompt is trimmed further.
        guard let refused, (room ?? refused) > refused - max(1, refused / 10) else { return room }
        return refused * 2 / 3
    }

    /// The maximum tokens of a prompt that cannot be trimmed; a longer one is not sent.
    ///
    /// Such a prompt may use the reserve of the answer. An estimate that was never compared with a count can be a quarter too
    /// high, so a prompt that may fit is sent, and the server decides.
    var limit: Int? {
        let limit = tokens.map { isMeasured ? $0 : $0 + $0 / 4 }
        guard let less = refused.map({ $0 - 1 }) else { return limit }
        return min(limit ?? less, less)
    }
}
