import ChatterdBasics
import ChatterdLanguageModels

/// The bytes that the token lines of one answer share: the lines differ in `created_at` and `message.content` alone.
///
/// The template is learned from a line that was read in full. A line with the same bytes around two other plain strings differs
/// only in those strings; the comparison costs a quarter of a full read. Any other line is read in full.
final class OllamaLineTemplate {
    /// The learned line, and its fields.
    private var example: [UInt8] = []
    private var learned: AnswerLine?
    /// The ranges of `created_at` and the content in it.
    private var time = 0..<0
    private var content = 0..<0

    /// Stores a line that was read in full as the example, if it is a token line.
    func learn(_ line: Span<UInt8>, _ fields: AnswerLine) {
        guard fields.isPlainToken, let time = fields.createdAt?.range, let content = fields.content?.range,
            time.upperBound < content.lowerBound
        else { return }
        learned = fields
        example = line.array
        self.time = time
        self.content = content
    }

    /// Reads a line of the learned shape; `nil` for any other line.
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
