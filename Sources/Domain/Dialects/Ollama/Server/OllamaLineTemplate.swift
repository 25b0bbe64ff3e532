import ChatterdBasics
import ChatterdChat

/// The bytes that the token lines of one answer share: the lines differ in `created_at` and `message.content` alone.
///
/// The template is learned from a line that was read in full. A line with the same bytes around two other plain strings differs
/// only in those strings; the comparison costs a quarter of a full read. Any other line is read in full.
final class OllamaLineTemplate {
    /// The learned line.
    private var example: [UInt8] = []
    /// The fields of the learned line.
    private(set) var learned: AnswerLine?
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

    /// Appends the lines of the learned shape to an empty table, and moves `index` past them and their line ends, up to the first line
    /// of another shape, without its end or longer than `longestLine`.
    ///
    /// - Returns: `false` if such a line, or the end of the bytes, ended the run; `true` if the table is full.
    func read(
        _ bytes: Span<UInt8>, from index: inout Int, into tokens: inout OutputSpan<TokenLine>, longestLine: Int
    ) -> Bool {
        guard learned != nil else { return false }
        let kept = example
        let example = kept.span
        let opening = example.extracting(first: time.lowerBound)
        let middle = example.extracting(time.upperBound..<content.lowerBound)
        let ending = example.extracting(content.upperBound..<example.count)
        let limit = index &+ LineRun.size
        while !tokens.isFull, index < limit {
            guard bytes.holds(opening, at: index),
                let time = bytes.plainJSONString(from: index &+ opening.count),
                bytes.holds(middle, at: time.range.upperBound),
                let content = bytes.plainJSONString(from: time.range.upperBound &+ middle.count),
                bytes.holds(ending, at: content.range.upperBound)
            else { return false }
            let end = content.range.upperBound &+ ending.count
            guard end < bytes.count, bytes[end] == UInt8(ascii: "\n"), end &- index <= longestLine else { return false }
            tokens.append(TokenLine(index..<end, createdAt: time, content: content))
            index = end &+ 1
        }
        return true
    }
}
