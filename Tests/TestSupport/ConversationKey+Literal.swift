import ChatterdIdentity

/// In tests the text of a key stands for the key.
extension ConversationKey: ExpressibleByStringInterpolation {
    public init(stringLiteral text: String) {
        self.init(parsing: text)
    }
}
