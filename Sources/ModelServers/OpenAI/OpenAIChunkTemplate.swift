import ChatterdBasics
import ChatterdLanguageModels

/// The shape that the token events of one stream share: they differ in the text alone.
///
/// Learned from an event that was read in full, with `data: ` before it and a blank line behind it, as all servers write
/// their events. An event with the same bytes around another plain string says the same but for that string.
struct OpenAIChunkTemplate {
    private var opening: [UInt8] = []
    private var ending: [UInt8] = []

    /// Takes the data of an event that was read in full as the example, if it is a token event.
    mutating func learn(_ data: Span<UInt8>, _ chunk: OpenAIChunk) {
        guard chunk.isPlainToken, let content = chunk.content?.range else { return }
        data.withUnsafeBufferPointer { data in
            opening.removeAll(keepingCapacity: true)
            opening.append(contentsOf: "data: ".utf8)
            opening.append(contentsOf: data[..<content.lowerBound])
            ending.removeAll(keepingCapacity: true)
            ending.append(contentsOf: data[content.upperBound...])
            ending.append(contentsOf: "\n\n".utf8)
        }
    }

    /// Hands the texts of events of the learned shape to `line` and `take`, and moves `index` behind them; up to the first event
    /// that is of another shape, or not whole.
    ///
    /// - Returns: whether another line is wanted.
    func read(
        _ bytes: Span<UInt8>, from index: inout Int, writing line: inout AnswerTextLine,
        _ take: (Span<UInt8>, AnswerLine) -> Bool
    ) -> Bool {
        guard !opening.isEmpty else { return true }
        let (before, after) = (opening.span, ending.span)
        while bytes.holds(before, at: index), let text = bytes.plainJSONString(from: index &+ before.count),
            bytes.holds(after, at: text.range.upperBound)
        {
            index = text.range.upperBound &+ after.count
            if text.range.isEmpty { continue }
            let fields = line.set(bytes.extracting(text.range), hasEscapes: text.hasEscapes)
            guard take(line.bytes, fields) else { return false }
        }
        return true
    }
}
