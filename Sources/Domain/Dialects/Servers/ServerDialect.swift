import ChatterdBasics
import ChatterdChat
import ChatterdHTTP

/// What a kind of model server understands and answers: paths, requests, answers and errors.
public protocol ServerDialect: Sendable {
    /// The path that chats are posted to, below the base path.
    var path: String { get }
    /// The base path that the path of a URL stands for.
    func basePath(of path: String) -> String
    /// Whether `body` translates the messages, which takes time for each byte of them, or sends them as they are.
    var translatesMessages: Bool { get }
    /// The body of a request.
    ///
    /// - Throws: `unsupported` with the name of a field that the dialect cannot express.
    func body(of request: GenerationRequest) throws(ModelError) -> OutgoingBody
    /// Creates the decoder of one answer.
    func makeDecoder(model: String, limits: GenerationLimits, now: @escaping @Sendable () -> Int64) -> any AnswerDecoder
    /// The error of an answer with another status than 2xx; `body` is cut at 16 KiB.
    func error(status: Status, fields: Fields, body: Span<UInt8>) -> ModelError
}

extension UpstreamDescription.Kind {
    /// The dialect of servers of this kind: the table of all.
    ///
    /// - Parameter host: the name or the address of the server.
    public func dialect(at host: String) -> any ServerDialect {
        switch self {
        case .openai: OpenAIServer(isOpenAI: host.hasSuffix(".openai.com") || host.hasSuffix(".azure.com"))
        case .llamastack: LlamaStackServer()
        case .ollama, .echo: OllamaServer()
        }
    }
}

extension String {
    /// The text without the first of the endings that it has.
    func dropping(_ endings: [String]) -> String {
        endings.first { hasSuffix($0) }.map { String(dropLast($0.count)) } ?? self
    }
}
