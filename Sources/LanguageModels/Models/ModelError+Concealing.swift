extension ModelError {
    /// The same with a secret blotted out of its words: some servers and proxies repeat what they were sent.
    func concealing(_ secret: String?) -> ModelError {
        // What is very short would blot out half the words.
        guard let secret, secret.utf8.count >= 4, message.contains(secret) || detail.contains(secret) else {
            return self
        }
        var error = ModelError(
            code, message.replacing(secret, with: "…"), detail: detail.replacing(secret, with: "…"))
        error.retryAfter = retryAfter
        error.contextLength = contextLength
        error.promptTokens = promptTokens
        return error
    }
}
