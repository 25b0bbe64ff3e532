import ChatterdBasics
import ChatterdChat

/// The bytes that the token events of one stream share: the events differ in the text alone.
///
/// The template is learned from an event that was read in full, with `data: ` before it and a blank line after it, as all servers
/// write their events. An event with the same bytes around another plain string differs only in that string.
struct OpenAIChunkTemplate {
    private var opening: [UInt8] = []
    private var ending: [UInt8] = []

    /// Stores the data of an event that was read in full as the example, if it is a token event.
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

    /// Writes the texts of events of the learned shape to `line`, delivers it, and moves `index` past them, up to the first event
    /// of another shape or without its end.
    ///
    /// - Returns: whether the handler continues.
    func read(
        _ bytes: Span<UInt8>, from index: inout Int, writing line: inout AnswerTextLine,
        _ deliver: AnswerLineHandler
    ) -> Bool {
        guard !opening.isEmpty else { return true }
        let (before, after) = (opening.span, ending.span)
        while bytes.holds(before, at: index), let text = bytes.plainJSONString(from: index &+ before.count),
            bytes.holds(after, at: text.range.upperBound)
        {
            index = text.range.upperBound &+ after.count
            if text.range.isEmpty { continue }
            let fields = line.set(bytes.extracting(text.range), hasEscapes: text.hasEscapes)
            guard deliver(LineRun(line: line.bytes, fields: fields)) else { return false }
        }
        return true
    }
}
