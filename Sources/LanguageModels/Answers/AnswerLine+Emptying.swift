import ChatterdBasics

extension ByteBuffer {
    /// Appends a line without the text, the reasoning and the tool calls that it carries; all else stays as it is.
    ///
    /// `line` is what was read from `bytes`.
    public mutating func append(emptying line: AnswerLine, in bytes: Span<UInt8>) {
        // The members may come in any order. Brackets stay where the calls were.
        var gaps: [Range<Int>] = []
        if let content = line.content { gaps.append(content.range) }
        if let thinking = line.thinking { gaps.append(thinking.range) }
        if let calls = line.toolCalls { gaps.append((calls.lowerBound + 1)..<(calls.upperBound - 1)) }
        append(line, in: bytes, without: gaps.sorted { $0.lowerBound < $1.lowerBound })
    }

    /// Appends a line without the text that it carries; all else stays as it is.
    public mutating func append(emptyingContentOf line: AnswerLine, in bytes: Span<UInt8>) {
        append(line, in: bytes, without: line.content.map { [$0.range] } ?? [])
    }

    /// Appends a line without the last of the tool calls that it carries; all else stays as it is.
    public mutating func append(removingLastCallOf line: AnswerLine, in bytes: Span<UInt8>) {
        append(line, in: bytes, without: line.toolCalls.flatMap { bytes.lastElement(ofArrayAt: $0) }.map { [$0] } ?? [])
    }

    private mutating func append(_ line: AnswerLine, in bytes: Span<UInt8>, without gaps: [Range<Int>]) {
        var copied = line.object.lowerBound
        for gap in gaps {
            append(bytes.extracting(copied..<gap.lowerBound))
            copied = gap.upperBound
        }
        append(bytes.extracting(copied..<line.object.upperBound))
    }
}

extension Span<UInt8> {
    /// Where the last element of an array stands, with the comma before it; nil if there is none. The brackets stand in `array`.
    fileprivate func lastElement(ofArrayAt array: Range<Int>) -> Range<Int>? {
        var reader = JSONReader(self, at: array.lowerBound)
        var starts = array.lowerBound + 1
        var end: Int?
        do throws(JSONError) {
            try reader.beginArray()
            while try reader.nextElement() {
                starts = end ?? starts
                end = try reader.skipValue().upperBound
            }
        } catch {
            // The line was read before: its calls read.
            return nil
        }
        return end.map { starts..<$0 }
    }
}
