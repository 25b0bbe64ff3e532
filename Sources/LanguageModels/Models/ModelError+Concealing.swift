extension ModelError {
    /// The same with a secret blotted out of its words: some servers and proxies repeat what they were sent.
    func concealing(_ secret: String?) -> ModelError {
        guard let secret, Self.isConcealable(secret), message.contains(secret) || detail.contains(secret) else {
            return self
        }
        var error = ModelError(
            code, message.replacing(secret, with: "…"), detail: detail.replacing(secret, with: "…"))
        error.hint = hint
        error.retryAfter = retryAfter
        error.contextLength = contextLength
        error.promptTokens = promptTokens
        return error
    }

    /// A text of a model server with a secret blotted out.
    public static func concealing(_ secret: String?, in text: [UInt8]) -> [UInt8] {
        guard let secret, isConcealable(secret), text.firstRange(of: Array(secret.utf8)) != nil else { return text }
        return Array(String(decoding: text, as: UTF8.self).replacing(secret, with: "…").utf8)
    }

    /// What is very short would blot out half the words.
    private static func isConcealable(_ secret: String) -> Bool { secret.utf8.count >= 4 }
}
