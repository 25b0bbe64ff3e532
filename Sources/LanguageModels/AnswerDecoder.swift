import Bytes
import HTTP

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

/// Reads the body of one answer, and says it in lines of Ollama's shape. Confined to its shard; no I/O, no clock of its own.
protocol AnswerDecoder: AnyObject {
    /// Whether the answer is whole, although more may be said about it (its token counts): from here on its end, however it
    /// comes, is a good one.
    var isWhole: Bool { get }
    /// Reads what one read has brought; `take` is given each line, and says whether to go on.
    ///
    /// The line with `"done":true` is the last one.
    func read(_ bytes: Span<UInt8>, _ take: (Span<UInt8>, OllamaLine) -> Bool) throws(ModelError)
    /// The body has ended in order, or nothing more is worth waiting for when the answer `isWhole`.
    ///
    /// - Throws: `incomplete` when there was no last line and can be none.
    func finish(_ take: (Span<UInt8>, OllamaLine) -> Bool) throws(ModelError)
}
