import Bytes

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

    /// The body of an error of a model server as clients may see it: without the key, and without what tells of the inside of the
    /// server's machine. A body with such things in it is replaced: JSON by `{"error":"…"}` with the rest of its words.
    public static func passable(_ body: [UInt8], concealing secret: String?) -> [UInt8] {
        let body = concealing(secret, in: body)
        let text = String(decoding: body, as: UTF8.self)
        let plain = text.replacing("\\n", with: "\n").replacing("\\\"", with: "\"").replacing("\\/", with: "/")
            .replacing("\\\\", with: "\\")
        let words = plain.withoutServerInternals
        guard words != plain else { return body }
        let said = UpstreamErrorBody(body.span)
        guard said.message != nil else { return Array(words.utf8) }
        var json = ByteBuffer()
        json.append("{\"error\":")
        json.append(jsonString: said.words ?? "…")
        json.append("}\n")
        return json.array
    }

    /// What is very short would blot out half the words.
    private static func isConcealable(_ secret: String) -> Bool { secret.utf8.count >= 4 }
}
