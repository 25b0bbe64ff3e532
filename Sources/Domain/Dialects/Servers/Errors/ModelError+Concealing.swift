import ChatterdBasics
import ChatterdChat

extension ModelError {
    /// The error with a secret replaced in its texts, because some servers and proxies repeat the request.
    public func concealing(_ secret: String?) -> ModelError {
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

    /// The text of a model server with a secret replaced.
    public static func concealing(_ secret: String?, in text: [UInt8]) -> [UInt8] {
        guard let secret, isConcealable(secret), text.firstRange(of: Array(secret.utf8)) != nil else { return text }
        return Array(String(decoding: text, as: UTF8.self).replacing(secret, with: "…").utf8)
    }

    /// The body of a model server's error for clients: without the key and without internals of the server's machine. A JSON body
    /// with such content becomes `{"error":"…"}` with the rest of its message. Any other body becomes its remaining text.
    public static func passable(_ body: [UInt8], concealing secret: String?) -> [UInt8] {
        let body = concealing(secret, in: body)
        let text = String(decoding: body, as: UTF8.self)
        let plain = text.replacing("\\n", with: "\n").replacing("\\\"", with: "\"").replacing("\\/", with: "/")
            .replacing("\\\\", with: "\\")
        let words = plain.withoutServerInternals
        guard words != plain else { return body }
        let report = UpstreamErrorBody(body.span)
        guard report.message != nil else { return Array(words.utf8) }
        var json = ByteBuffer()
        json.appendJSON { writer in writer.object { $0.member("error", report.clientMessage ?? "…") } }
        json.append("\n")
        return json.array
    }

    /// The replacement of a very short secret would remove parts of ordinary words.
    private static func isConcealable(_ secret: String) -> Bool { secret.utf8.count >= 4 }
}
