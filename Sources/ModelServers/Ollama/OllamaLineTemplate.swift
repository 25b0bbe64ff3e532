import ChatterdBasics
import ChatterdLanguageModels

/// The shape that the token lines of one answer share: they differ in `created_at` and `message.content` alone.
///
/// Learned from a line that was read in full. A line with the same bytes around two other plain strings says the same but for
/// those strings; to see that costs a quarter of reading it. Any other line is read in full.
final class OllamaLineTemplate {
    /// The learned line, and what it says.
    private var example: [UInt8] = []
    private var learned: AnswerLine?
    /// Where `created_at` and the content stand in it.
    private var time = 0..<0
    private var content = 0..<0

    /// Takes a line that was read in full as the example, if it is a token line.
    func learn(_ line: Span<UInt8>, _ fields: AnswerLine) {
        guard fields.isPlainToken, let time = fields.createdAt?.range, let content = fields.content?.range,
            time.upperBound < content.lowerBound
        else { return }
        learned = fields
        example = line.array
        self.time = time
        self.content = content
    }

    /// Reads a line of the learned shape; nothing if it has another.
    func read(_ line: Span<UInt8>) -> AnswerLine? {
        guard let learned else { return nil }
        let kept = example
        let example = kept.span
        let middle = example.extracting(time.upperBound..<content.lowerBound)
        let ending = example.extracting(content.upperBound..<example.count)
        guard line.holds(example.extracting(first: time.lowerBound), at: 0),
            let time = line.plainJSONString(from: time.lowerBound), line.holds(middle, at: time.range.upperBound),
            let content = line.plainJSONString(from: time.range.upperBound + middle.count),
            line.count - content.range.upperBound == ending.count, line.holds(ending, at: content.range.upperBound)
        else { return nil }
        return AnswerLine(learned, createdAt: time, content: content)
    }
}
