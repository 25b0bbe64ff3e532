import ChatterdBasics
import ChatterdChat
import ChatterdHTTP
import ChatterdHTTPClient

/// The wire format of one kind of model server: its requests, answers and errors.
protocol Dialect: Sendable {
    /// The path that chats are posted to, below the base URL.
    var path: String { get }
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
