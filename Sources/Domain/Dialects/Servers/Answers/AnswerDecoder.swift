import ChatterdBasics
import ChatterdChat

/// Handles lines of an answer, borrowed for the call. Returns whether the decoder continues.
public typealias AnswerLineHandler = (_ lines: LineRun) -> Bool

/// Reads the body of one answer and delivers it as lines in Ollama's shape. Confined to its shard; no I/O, no clock of its own.
public protocol AnswerDecoder: AnyObject {
    /// Whether the answer is whole, although its token counts may follow. From then on the answer is complete even if its
    /// body breaks off.
    var isWhole: Bool { get }
    /// Reads the bytes of one read and delivers the lines that they complete. The line with `"done":true` is the last one.
    ///
    /// - Returns: whether the bytes held something of the answer, and not only comments of an event stream.
    /// - Throws: `malformed`, `answerTooLarge`, or the error that the model server reports within its answer.
    func read(_ bytes: Span<UInt8>, _ deliver: AnswerLineHandler) throws(ModelError) -> Bool
    /// Reads the rest after the end of the body, or when an answer that `isWhole` has waited long enough for its counts.
    ///
    /// - Throws: `incomplete` if there was no last line and the rest does not make one.
    func finish(_ deliver: AnswerLineHandler) throws(ModelError)
}
