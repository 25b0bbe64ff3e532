import ChatterdBasics

extension ByteBuffer {
    /// Appends a line without its text, reasoning and tool calls; the rest is unchanged.
    ///
    /// `line` has the fields of `bytes`.
    public mutating func append(emptying line: AnswerLine, in bytes: Span<UInt8>) {
        // The members may come in any order. The brackets of the calls stay.
        var gaps: [Range<Int>] = []
        if let content = line.content { gaps.append(content.range) }
        if let thinking = line.thinking { gaps.append(thinking.range) }
        if let calls = line.toolCalls { gaps.append((calls.lowerBound + 1)..<(calls.upperBound - 1)) }
        append(line, in: bytes, without: gaps.sorted { $0.lowerBound < $1.lowerBound })
    }

    /// Appends a line without its text; the rest is unchanged.
    public mutating func append(emptyingContentOf line: AnswerLine, in bytes: Span<UInt8>) {
        append(line, in: bytes, without: line.content.map { [$0.range] } ?? [])
    }

    /// Appends a line without its text and reasoning; the rest is unchanged.
    public mutating func append(emptyingTextOf line: AnswerLine, in bytes: Span<UInt8>) {
        let gaps = [line.content?.range, line.thinking?.range].compactMap(\.self)
        append(line, in: bytes, without: gaps.sorted { $0.lowerBound < $1.lowerBound })
    }

    /// Appends a line without its tool calls; the rest is unchanged.
    public mutating func append(emptyingCallsOf line: AnswerLine, in bytes: Span<UInt8>) {
        append(line, in: bytes, without: line.toolCalls.map { [($0.lowerBound + 1)..<($0.upperBound - 1)] } ?? [])
    }

    /// Appends a line without its last tool call; the rest is unchanged.
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
    /// The range of the last element of an array, with the comma before it; `nil` for an empty array. `array` includes the brackets.
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
            // The line has been parsed, so its calls always parse.
            return nil
        }
        return end.map { starts..<$0 }
    }
}
