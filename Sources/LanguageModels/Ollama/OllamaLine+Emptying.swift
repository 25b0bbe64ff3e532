import Bytes

extension ByteBuffer {
    /// Appends a line without the text, the reasoning and the tool calls that it carries; all else stays as it is.
    ///
    /// `line` is what was read from `bytes`.
    public mutating func append(emptying line: OllamaLine, in bytes: Span<UInt8>) {
        // The members may come in any order. Brackets stay where the calls were.
        var gaps: [Range<Int>] = []
        if let content = line.content { gaps.append(content.range) }
        if let thinking = line.thinking { gaps.append(thinking.range) }
        if let calls = line.toolCalls { gaps.append((calls.lowerBound + 1)..<(calls.upperBound - 1)) }
        append(line, in: bytes, without: gaps.sorted { $0.lowerBound < $1.lowerBound })
    }

    /// Appends a line without the text that it carries; all else stays as it is.
    public mutating func append(emptyingContentOf line: OllamaLine, in bytes: Span<UInt8>) {
        append(line, in: bytes, without: line.content.map { [$0.range] } ?? [])
    }

    private mutating func append(_ line: OllamaLine, in bytes: Span<UInt8>, without gaps: [Range<Int>]) {
        var copied = line.object.lowerBound
        for gap in gaps {
            append(bytes.extracting(copied..<gap.lowerBound))
            copied = gap.upperBound
        }
        append(bytes.extracting(copied..<line.object.upperBound))
    }
}
