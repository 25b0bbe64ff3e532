/// A model of a server with Open Responses (`/v1/responses`): OpenAI, Ollama, vLLM, llama.cpp …
public struct OpenResponsesLLM: LLM {
    public let name: String
    public let generatesSchemasWithTools: Bool
    private let server: ModelServer
    private let format = OpenResponsesFormat()
    private let needsKey: Bool

    /// Creates a model. Nothing is sent before the first request.
    ///
    /// - Parameters:
    ///   - model: the name of the model, as the server lists it.
    ///   - url: the address, with or without `/v1` and the path of the endpoint.
    ///   - key: the key, if the server wants one.
    ///   - headers: further fields of each request.
    ///   - schemasWithTools: whether the server can both constrain an answer and call tools in one request; `nil` decides by the address:
    ///     OpenAI itself can.
    /// - Throws: `LLMError.rejected` for a malformed URL, key or header.
    public init(
        model: String, url: String = "https://api.openai.com", key: String? = nil, headers: [String: String] = [:],
        schemasWithTools: Bool? = nil
    ) throws(LLMError) {
        name = model
        let isOpenAI = url.hasPrefix("https://api.openai.com")
        server = try ModelServer(
            url: url, removing: ["/v1/responses", "/responses", "/v1"], key: key, headers: headers)
        needsKey = isOpenAI && (key ?? "").isEmpty
        generatesSchemasWithTools = schemasWithTools ?? isOpenAI
    }

    public var availability: Availability {
        get async { needsKey ? .unavailable(.apiKeyMissing) : await server.availability(format, model: name) }
    }

    public func events(for request: GenerationRequest) -> AsyncThrowingStream<GenerationEvent, any Error> {
        server.events(format, model: name, request)
    }
}
