/// A model of an Ollama server.
public struct OllamaLLM: LLM {
    public let name: String
    private let server: ModelServer
    private let format = OllamaFormat()

    /// Creates a model. Nothing is sent before the first request.
    ///
    /// - Throws: `LLMError.rejected` for a malformed URL, key or header.
    public init(
        model: String, url: String = "http://127.0.0.1:11434", key: String? = nil, headers: [String: String] = [:]
    ) throws(LLMError) {
        name = model
        server = try ModelServer(url: url, removing: ["/api/chat", "/api"], key: key, headers: headers)
    }

    public var availability: Availability {
        get async { await server.availability(format, model: name) }
    }

    public func events(for request: GenerationRequest) -> AsyncThrowingStream<GenerationEvent, any Error> {
        server.events(format, model: name, request)
    }
}
