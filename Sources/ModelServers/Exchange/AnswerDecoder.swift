import ChatterdBasics
import ChatterdLanguageModels

/// Reads the body of one answer, and says it in lines of Ollama's shape. Confined to its shard; no I/O, no clock of its own.
protocol AnswerDecoder: AnyObject {
    /// Whether the answer is whole, although more may be said about it (its token counts): from here on its end, however it
    /// comes, is a good one.
    var isWhole: Bool { get }
    /// Reads what one read has brought; `take` is given each line, and says whether to go on.
    ///
    /// The line with `"done":true` is the last one.
    ///
    /// - Returns: whether something of the answer was among it, and not only signs of life (comments of an event stream).
    func read(_ bytes: Span<UInt8>, _ take: (Span<UInt8>, AnswerLine) -> Bool) throws(ModelError) -> Bool
    /// The body has ended in order, or nothing more is worth waiting for when the answer `isWhole`.
    ///
    /// - Throws: `incomplete` when there was no last line and can be none.
    func finish(_ take: (Span<UInt8>, AnswerLine) -> Bool) throws(ModelError)
}
