import ChatterdBasics

/// The size of a prompt, from which its tokens are estimated without a tokenizer.
struct PromptSize: Sendable, Equatable {
    /// The bytes of the messages' JSON without pictures, and of the tools and text that are sent in addition.
    var bytes = 0
    /// The number of messages.
    var messages = 0
    /// The number of pictures.
    var images = 0

    /// The bytes of JSON around the text of a message: `{"role":"user","content":""}`.
    private static let frame = 28
    /// The tokens that chat templates put around a message.
    private static let messageTokens = 8
    private static let imageTokens = ContextWindow.usualImageTokens
    /// The minimum of bytes per token.
    private static let fewestBytes = 0.1

    /// Adds the size of another part of the prompt.
    mutating func add(_ other: PromptSize) {
        bytes += other.bytes
        messages += other.messages
        images += other.images
    }

    /// The size of one message with `text` bytes of text.
    init(messageOf text: Int) {
        self.init(messages: 1, text: text)
    }

    /// The size of some messages with `text` bytes of text together.
    init(messages: Int, text: Int) {
        self.init(bytes: text + Self.frame * messages, messages: messages)
    }

    init(bytes: Int = 0, messages: Int = 0) {
        self.bytes = bytes
        self.messages = messages
    }

    /// The bytes of text.
    var text: Int { max(0, bytes - Self.frame * messages) }

    /// The estimated tokens.
    func tokens(bytesPerToken: Double) -> Int {
        Int(Double(text) / bytesPerToken) + Self.messageTokens * messages + Self.imageTokens * images
    }

    /// The estimated tokens if a count covers the first bytes of the text.
    func tokens(bytesPerToken: Double, behind count: ConversationCounts.Count) -> Int {
        let known = min(text, count.text)
        return Int(Double(known) / count.bytesPerToken + Double(text - known) / bytesPerToken)
            + Self.messageTokens * messages + Self.imageTokens * images
    }

    /// The part of the estimate that is for pictures; they may need far fewer tokens.
    var tokensOfImages: Int { Self.imageTokens * images }

    /// The minimum tokens at this rate of the text.
    func fewestTokens(bytesPerToken: Double) -> Int {
        Int(Double(text) / bytesPerToken) + 2 * messages
    }

    /// The bytes per token, given the count of tokens; `nil` if the prompt has too little text for a measurement.
    func bytesPerToken(ofTokens tokens: Int) -> Double? {
        guard images == 0, text > 0, tokens >= 128 else { return nil }
        let textTokens = tokens - Self.messageTokens * messages
        guard textTokens >= tokens / 2 else { return nil }
        // The minimum keeps estimates finite for every count that a server may claim.
        return max(Double(text) / Double(textTokens), Self.fewestBytes)
    }
}
