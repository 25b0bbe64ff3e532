/// A model of a Llama Stack server before 0.3. Later servers have OpenAI's endpoints: `OpenAILLM`.
public struct LlamaStackLLM: LLM {
    public let name: String
    private let server: ModelServer
    private let format = LlamaStackFormat()

    /// Creates a model. Nothing is sent before the first request.
    ///
    /// - Parameters:
    ///   - model: the name of the model, as the server lists it.
    ///   - url: the address, with or without `/v1` and the path of the endpoint.
    ///   - key: the key, if the server wants one.
    ///   - headers: further fields of each request, such as `X-LlamaStack-Provider-Data`.
    /// - Throws: `LLMError.rejected` for a malformed URL, key or header.
    public init(
        model: String, url: String = "http://127.0.0.1:8321", key: String? = nil, headers: [String: String] = [:]
    ) throws(LLMError) {
        name = model
        server = try ModelServer(
            url: url, removing: ["/v1/inference/chat-completion", "/v1"], key: key, headers: headers)
    }

    public var availability: Availability {
        get async { await server.availability(format, model: name) }
    }

    public func events(for request: GenerationRequest) -> AsyncThrowingStream<GenerationEvent, any Error> {
        server.events(format, model: name, request)
    }
}
