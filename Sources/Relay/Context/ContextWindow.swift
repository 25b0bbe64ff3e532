import ChatterdLanguageModels

/// The room that a model has for a conversation, in tokens.
public struct ContextWindow: Sendable, Equatable {
    /// The bytes that a token is taken for as long as nothing was counted: rather too few for English.
    public static let usualBytesPerToken = 3.5

    /// The tokens of prompt and answer together; nothing when unknown.
    public var tokens: Int?
    /// The bytes that a token is taken for; learned from what servers count.
    public var bytesPerToken: Double
    /// Whether that was learned.
    public var isMeasured = false
    /// The tokens that are left for the answer.
    public var reserve: Int
    /// The bytes that are sent beside the messages: tools, the beginning of the answer.
    public var besides = 0
    /// The estimate of a prompt that the server has refused: the next one is smaller.
    public var refused: Int?

    /// The server's last count of this conversation.
    var counted: ConversationCounts.Count?

    /// Makes a window.
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

    /// The tokens that a prompt is trimmed to; nothing when it is not trimmed.
    var room: Int? {
        let room = tokens.map { $0 - reserve }
        // What the server has said of itself does not explain its refusal.
        guard let refused, (room ?? refused) > refused - max(1, refused / 10) else { return room }
        return refused * 2 / 3
    }

    /// The tokens beyond which a prompt that cannot be trimmed is not sent.
    ///
    /// It may leave the answer less than the reserve. An estimate that was never compared with a count is a quarter too high
    /// easily: what may fit is sent, and the server decides.
    var limit: Int? {
        let limit = tokens.map { isMeasured ? $0 : $0 + $0 / 4 }
        guard let less = refused.map({ $0 - 1 }) else { return limit }
        return min(limit ?? less, less)
    }
}
