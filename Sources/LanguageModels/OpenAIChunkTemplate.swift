import Bytes

/// The shape that the token events of one stream share: they differ in the text alone.
///
/// Learned from an event that was read in full, with `data: ` before it and a blank line behind it, as all servers write
/// their events. An event with the same bytes around another plain string says the same but for that string.
final class OpenAIChunkTemplate {
    private var opening: [UInt8] = []
    private var ending: [UInt8] = []

    /// Takes the data of an event that was read in full as the example, if it is a token event.
    func learn(_ data: Span<UInt8>, _ chunk: OpenAIChunk) {
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

    /// Reads an event of the learned shape that begins at `index`, and moves `index` behind it; nothing if there is none.
    func next(_ bytes: Span<UInt8>, from index: inout Int) -> JSONString? {
        let (before, after) = (opening, ending)
        guard !before.isEmpty, bytes.holds(before.span, at: index),
            let text = bytes.plainJSONString(from: index + before.count),
            bytes.holds(after.span, at: text.range.upperBound)
        else { return nil }
        index = text.range.upperBound + after.count
        return text
    }
}
