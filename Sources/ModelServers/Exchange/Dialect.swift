import ChatterdBasics
import ChatterdHTTP
import ChatterdLanguageModels

/// What a model server speaks: how it is asked, and how its answers are read.
protocol Dialect: Sendable {
    /// The path that chats are posted to, below the base URL.
    var path: String { get }
    /// The body of a request.
    ///
    /// - Throws: `unsupported`, which names the field that cannot be said in this dialect.
    func body(of request: GenerationRequest) throws(ModelError) -> ByteBuffer
    /// Makes what reads the answer.
    func makeDecoder(model: String, limits: GenerationLimits, now: @escaping @Sendable () -> Int64) -> any AnswerDecoder
    /// The error of an answer with another status than 2xx; `body` is cut at 16 KiB.
    func error(status: Status, fields: Fields, body: Span<UInt8>) -> ModelError
}
