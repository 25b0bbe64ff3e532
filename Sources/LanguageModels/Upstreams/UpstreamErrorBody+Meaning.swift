extension UpstreamErrorBody {
    /// Whether the server calls it by a name that says that the prompt is longer than what the model takes.
    var isContextOverflow: Bool {
        type == "exceed_context_size_error" || code == "context_length_exceeded"
    }

    /// Whether it says with a status that the prompt is longer than what the model takes.
    func isContextOverflow(status: Int) -> Bool {
        isContextOverflow || (status == 400 || status == 413 || status == 422) && mentionsContext
    }

    /// Whether it speaks of the room that a model has.
    var mentionsContext: Bool { says(Self.contextWords) }

    /// Whether it is the model that the server does not have.
    var isAboutModel: Bool {
        code == "model_not_found" || says(["model"]) && says(["not found", "not exist", "invalid model name"])
    }

    /// Whether the request itself is at fault, whatever the status says.
    var isAboutRequest: Bool {
        type.map { Self.requestTypes.contains($0) } == true || says(Self.requestWords)
    }

    /// Whether the server itself is at fault: to say so twice does not make it the request's fault.
    var isAboutServer: Bool { says(Self.serverWords) }

    /// Whether the server is being started, and will answer in a while.
    var isLoading: Bool { says(["loading model", "model is loading", "still loading"]) }

    /// Whether any of the words, all of them lower case, are in the message.
    private func says(_ words: [String]) -> Bool {
        guard let message = message?.lowercased() else { return false }
        return words.contains { message.contains($0) }
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

    /// The kinds of error that OpenAI, vLLM and llama.cpp have for bad requests.
    private static let requestTypes: Set<String> = ["invalid_request_error", "BadRequestError", "not_supported_error"]

    /// What servers say of bad requests with the status 500 or in an answer.
    private static let requestWords = [
        // llama.cpp: pictures and sound for a model of text, templates that refuse the messages, grammars, options.
        "input is not supported", "failed to load image", "failed to decode image", "failed to process image",
        "roles must alternate", "failed to parse grammar", "failed to initialize samplers",
        "json schema conversion failed", "unsupported param", "unsupported content", "invalid type for",
        // Ollama: options, formats, pictures, tools.
        "must be of type", "invalid format", "invalid option", "cannot unmarshal", "illegal base64",
        "unknown format", "missing data required for image", "does not support",
        // vLLM.
        "grammar error", "invalid grammar", "is not a multimodal model", "may be provided in one prompt",
        // FastAPI, and llama-cpp-python and Llama Stack with it.
        "validation error", "field required", "input should be",
        // LiteLLM, which writes the error that it was told into its own.
        "badrequesterror", "unsupportedparamserror", "invalid_request_error",
    ]

    /// What servers say of their own failures.
    private static let serverWords = [
        "internal server error", "an unexpected error", "memory", "cuda", "enginecore",
        "engine is dead",
        "terminated", "crashed", "exited", "unexpected eof", "timed out", "timeout", "overload", "unavailable",
        "connection",
        "loading", "busy", "too many requests", "rate limit", "capacity", "try again", "disk",
    ]
}
