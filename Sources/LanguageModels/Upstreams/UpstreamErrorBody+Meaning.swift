extension UpstreamErrorBody {
    /// Whether the server calls it by a name that says that the prompt is longer than what the model takes.
    var isContextOverflow: Bool {
        type == "exceed_context_size_error" || code == "context_length_exceeded"
    }

    /// Whether it says with a status that the prompt is longer than what the model takes.
    func isContextOverflow(status: Int) -> Bool {
        if isContextOverflow { return true }
        guard status == 400 || status == 413 || status == 422, let message else { return false }
        let words = message.lowercased()
        return Self.contextWords.contains { words.contains($0) }
    }

    /// Whether it is the model that the server does not have.
    var isAboutModel: Bool {
        if code == "model_not_found" { return true }
        guard let words = message?.lowercased(), words.contains("model") else { return false }
        return words.contains("not found") || words.contains("does not exist") || words.contains("not exist")
    }

    /// Whether a 404 says no more than that the path is unknown.
    var isAboutPath: Bool {
        guard let words = message?.lowercased() else { return true }
        return Self.pathWords.contains(words.hasSuffix(".") ? words.dropLast() : words[...])
    }

    /// Whether LiteLLM without a database says in this way that the key is missing or wrong.
    var isAboutKey: Bool { message?.lowercased().contains("no connected db") ?? false }

    private static let pathWords: Set<Substring> = [
        "not found", "file not found", "page not found", "404 page not found", "404 not found", "404: not found",
    ]

    private static let contextWords = [
        "context length", "context size", "context window", "maximum context", "maximum model length",
        "prompt is too long",
        "too many tokens", "input is too long", "reduce the length of the messages",
    ]
}
