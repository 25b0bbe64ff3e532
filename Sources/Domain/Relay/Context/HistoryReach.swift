import ChatterdChat

/// How far back a store reads a history: to the oldest message that any model server for the prompt may get.
public struct HistoryReach: Sendable, Equatable {
    /// The tokens of the largest context window.
    public var tokens: Int
    /// The highest assumed bytes per token of the windows.
    public var bytesPerToken: Double

    /// Creates a reach.
    public init(tokens: Int, bytesPerToken: Double) {
        self.tokens = tokens
        self.bytesPerToken = bytesPerToken
    }

    /// Whether messages are certainly longer than the largest window.
    ///
    /// The result may be `false` for messages that exceed the window; the store then reads more than necessary.
    ///
    /// - Parameters:
    ///   - messages: the number of the messages.
    ///   - text: the bytes of their text. Escapes and extras do not count.
    public func isExceeded(by messages: Int, text: Int) -> Bool {
        PromptSize(messages: messages, text: text).tokens(bytesPerToken: bytesPerToken) > tokens
    }

    /// Whether the messages of conversations are together certainly longer than a multiple of the largest window.
    public func isExceeded(
        by messages: EncodedConversation, and others: [EncodedConversation] = [], times factor: Int = 1
    ) -> Bool {
        var size = PromptSize()
        for messages in [messages] + others {
            let totals = messages.totals
            size.add(PromptSize(bytes: totals.bytes - totals.imageBytes, messages: messages.count))
        }
        return size.tokens(bytesPerToken: bytesPerToken) > factor * tokens
    }
}
