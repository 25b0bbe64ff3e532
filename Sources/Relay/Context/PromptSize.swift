import ChatterdBasics

/// What tokens are estimated from, without a tokenizer.
struct PromptSize: Sendable, Equatable {
    /// The bytes of the messages' JSON, without pictures; and of what is sent beside them.
    var bytes = 0
    /// The number of messages.
    var messages = 0
    /// The pictures.
    var images = 0

    /// The bytes of JSON around the text of a message: `{"role":"user","content":""}`.
    private static let frame = 28
    /// What chat templates put around a message, in tokens.
    private static let messageTokens = 8
    /// What models take a picture for: between some hundred and some thousand tokens.
    private static let imageTokens = 1_024
    /// The least that a token is ever taken for, in bytes.
    private static let fewestBytes = 0.1

    /// The longest message, in bytes, that is not looked through for pictures.
    static let smallImage = 2_048

    /// Adds what stands beside it.
    mutating func add(_ other: PromptSize) {
        bytes += other.bytes
        messages += other.messages
        images += other.images
    }

    /// Takes the pictures of a message, one that is counted already, for pictures and not for text.
    mutating func take(imagesOf message: Span<UInt8>) {
        var reader = JSONReader(message)
        do throws(JSONError) {
            try reader.beginObject()
            while let key = try reader.nextKey() {
                guard reader.matches(key, "images"), try reader.kind() == .array else {
                    try reader.skipValue()
                    continue
                }
                try reader.beginArray()
                while try reader.nextElement() {
                    bytes -= try reader.skipValue().count
                    images += 1
                }
            }
        } catch {
            // Of our own making: it reads.
            return
        }
    }

    /// The size of one message with `text` bytes of text.
    init(messageOf text: Int) {
        self.init(bytes: text + Self.frame, messages: 1)
    }

    init(bytes: Int = 0, messages: Int = 0) {
        self.bytes = bytes
        self.messages = messages
    }

    /// The bytes of text.
    var text: Int { max(0, bytes - Self.frame * messages) }

    /// The tokens that this is estimated at.
    func tokens(bytesPerToken: Double) -> Int {
        Int(Double(text) / bytesPerToken) + Self.messageTokens * messages + Self.imageTokens * images
    }

    /// The estimated tokens if a count covers the first bytes of the text.
    func tokens(bytesPerToken: Double, behind count: ConversationCounts.Count) -> Int {
        let known = min(text, count.text)
        return Int(Double(known) / count.bytesPerToken + Double(text - known) / bytesPerToken)
            + Self.messageTokens * messages + Self.imageTokens * images
    }

    /// What it weighs whatever is known of the model: a picture is taken for so many bytes. Those of parts add up.
    var weight: Int { bytes + 4 * Self.imageTokens * images }

    /// How much of an estimate is for pictures, which may take far less.
    var tokensOfImages: Int { Self.imageTokens * images }

    /// The tokens that this has at the least, if that is the rate of its text.
    func fewestTokens(bytesPerToken: Double) -> Int {
        Int(Double(text) / bytesPerToken) + 2 * messages
    }

    /// The bytes that a token must have had, if these are so many; nothing where too little text is among them to say.
    func bytesPerToken(ofTokens tokens: Int) -> Double? {
        let textTokens = tokens - Self.messageTokens * messages
        guard images == 0, text > 0, tokens >= 128, textTokens >= tokens / 2 else { return nil }
        // Whatever a server claims to have counted: what is estimated by it stays a number.
        return max(Double(text) / Double(textTokens), Self.fewestBytes)
    }
}
