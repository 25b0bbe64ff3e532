import Bytes

/// The shape that the token lines of one answer share: they differ in `created_at` and `message.content` alone.
///
/// Learned from a line that was read in full. A line with the same bytes around two other plain strings says the same but for
/// those strings; to see that costs a quarter of reading it. Any other line is read in full.
struct OllamaLineTemplate {
    /// The learned line up to the opening quote of `created_at`, from its closing quote to the opening one of the content, and
    /// from the closing one to the end.
    private var opening: [UInt8] = []
    private var middle: [UInt8] = []
    private var ending: [UInt8] = []
    private var learned: OllamaLine?

    /// Takes a line that was read in full as the example, if it is a token line.
    mutating func learn(_ line: Span<UInt8>, _ fields: OllamaLine) {
        guard fields.isPlainToken, let time = fields.createdAt?.range, let content = fields.content?.range,
            time.upperBound < content.lowerBound
        else { return }
        learned = fields
        opening = Self.copy(line.extracting(first: time.lowerBound))
        middle = Self.copy(line.extracting(time.upperBound..<content.lowerBound))
        ending = Self.copy(line.extracting(content.upperBound..<line.count))
    }

    /// Reads a line of the learned shape; nothing if it has another.
    func read(_ line: Span<UInt8>) -> OllamaLine? {
        guard let learned, line.holds(opening.span, at: 0),
            let time = line.plainJSONString(from: opening.count), line.holds(middle.span, at: time.range.upperBound),
            let content = line.plainJSONString(from: time.range.upperBound + middle.count),
            line.count - content.range.upperBound == ending.count,
            line.holds(ending.span, at: content.range.upperBound)
        else { return nil }
        return OllamaLine(learned, createdAt: time, content: content)
    }

    private static func copy(_ bytes: Span<UInt8>) -> [UInt8] {
        bytes.withUnsafeBufferPointer { Array($0) }
    }
}
