/// A model of a server with OpenAI's chat completions: OpenAI, vLLM, llama.cpp, Llama Stack since 0.3 …
public struct OpenAILLM: LLM {
    public let name: String
    public let generatesSchemasWithTools: Bool
    /// The server, or the reason why nothing can be sent.
    private let server: Result<ModelServer, LLMError>
    private let format: OpenAIFormat
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
        self.init(
            model: model, isOpenAI: url.hasPrefix("https://api.openai.com"), schemasWithTools,
            hasKey: !(key ?? "").isEmpty,
            .success(try Self.server(url: url, key: key, headers: headers)))
    }

    /// Creates a model of OpenAI. A key that cannot be sent is an error of the first request.
    public init(apiKey: String, model: String) {
        self.init(
            model: model, isOpenAI: true, nil, hasKey: !apiKey.isEmpty,
            Result { () throws(LLMError) in try Self.server(url: "https://api.openai.com", key: apiKey) })
    }

    private init(
        model: String, isOpenAI: Bool, _ schemasWithTools: Bool?, hasKey: Bool, _ server: Result<ModelServer, LLMError>
    ) {
        name = model
        self.server = server
        format = OpenAIFormat(tokenLimitName: isOpenAI ? "max_completion_tokens" : "max_tokens")
        needsKey = isOpenAI && !hasKey
        generatesSchemasWithTools = schemasWithTools ?? isOpenAI
    }

    private static func server(
        url: String, key: String?, headers: [String: String] = [:]
    ) throws(LLMError) -> ModelServer {
        try ModelServer(
            url: url, removing: ["/v1/chat/completions", "/chat/completions", "/v1"], key: key, headers: headers)
    }

    public var availability: Availability {
        get async {
            guard !needsKey else { return .unavailable(.apiKeyMissing) }
            switch server {
            case .success(let server): return await server.availability(format, model: name)
            case .failure(let error): return .unavailable(.other(error.message))
            }
        }
    }

    public func events(for request: GenerationRequest) -> AsyncThrowingStream<GenerationEvent, any Error> {
        switch server {
        case .success(let server): server.events(format, model: name, request)
        case .failure(let error): AsyncThrowingStream { throw error }
        }
    }
}
