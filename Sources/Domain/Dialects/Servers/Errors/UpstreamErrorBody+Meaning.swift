import ChatterdBasics
import ChatterdChat

extension UpstreamErrorBody {
    /// Whether the type or the code names a prompt that exceeds the context length.
    var isContextOverflow: Bool {
        type == "exceed_context_size_error" || code == "context_length_exceeded"
    }

    /// Whether an error with a status means that the prompt exceeds the context length.
    func isContextOverflow(status: Int) -> Bool {
        isContextOverflow || (status == 400 || status == 413 || status == 422) && mentionsContext
    }

    /// Whether the message mentions the context size of the model.
    var mentionsContext: Bool { mentions(Self.contextPhrases) }

    /// Whether the server does not have the model.
    public var isAboutModel: Bool {
        code == "model_not_found" || mentions(["model"]) && mentions(["not found", "not exist", "invalid model name"])
    }

    /// Whether the request is at fault, for any status.
    var isAboutRequest: Bool {
        Self.requestTypes.contains { $0 == type } || mentions(Self.requestPhrases)
    }

    /// Whether the model cannot think, or not as the request asks: the words of Ollama, and the name of OpenAI's member.
    var isAboutThinking: Bool { mentions(["does not support thinking", "think value", "reasoning_effort"]) }

    /// Whether the server is at fault. Two such answers do not prove a fault of the request.
    var isAboutServer: Bool { mentions(Self.serverPhrases) }

    /// Whether the server is loading its model and will answer later.
    var isLoading: Bool { mentions(["loading model", "model is loading", "still loading"]) }

    /// Whether the message contains any of the phrases, which are in lower case.
    private func mentions(_ phrases: [String]) -> Bool {
        guard let message = message?.lowercased() else { return false }
        return phrases.contains { message.contains($0) }
    }

    /// Whether a 404 only reports an unknown path.
    var isAboutPath: Bool {
        guard let text = message?.lowercased() else { return true }
        return Self.pathPhrases.contains { text == $0 || text == $0 + "." }
    }

    /// Whether the message is LiteLLM's for a missing or wrong key, without a database.
    var isAboutKey: Bool { message?.lowercased().contains("no connected db") ?? false }

    private static let pathPhrases = [
        "not found", "file not found", "page not found", "404 page not found", "404 not found", "404: not found",
    ]

    private static let contextPhrases = [
        "context length", "context size", "context window", "maximum context", "maximum model length",
        "prompt is too long",
        "too many tokens", "input is too long", "reduce the length of the messages",
    ]

    /// The error types of OpenAI, vLLM and llama.cpp for bad requests.
    private static let requestTypes = ["invalid_request_error", "BadRequestError", "not_supported_error"]

    /// Phrases of servers for bad requests, with the status 500 or within an answer.
    private static let requestPhrases = [
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
        // LiteLLM, which quotes the error of the server behind it.
        "badrequesterror", "unsupportedparamserror", "invalid_request_error",
    ]

    /// Phrases of servers for their own failures.
    private static let serverPhrases = [
        "internal server error", "an unexpected error", "memory", "cuda", "enginecore",
        "engine is dead",
        "terminated", "crashed", "exited", "unexpected eof", "timed out", "timeout", "overload", "unavailable",
        "connection",
        "loading", "busy", "too many requests", "rate limit", "capacity", "try again", "disk",
    ]
}
