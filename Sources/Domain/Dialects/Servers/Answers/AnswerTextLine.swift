import ChatterdBasics
import ChatterdChat

/// A line with text alone whose text is replaced for each token. The time and the bytes around the text stay.
struct AnswerTextLine {
    private var buffer: ByteBuffer
    private let mark: ByteBuffer.Mark
    private let start: Int
    private let time: JSONString
    private let example: AnswerLine

    private static var ending: StaticString { "\"},\"done\":false}" }

    /// Begins a line; `example` has the fields of another line of the same answer.
    init(_ writer: AnswerLineWriter, at nanoseconds: Int64, like example: AnswerLine, in buffer: consuming ByteBuffer) {
        buffer.removeAll()
        writer.appendOpening(at: nanoseconds, to: &buffer)
        buffer.append("\"content\":\"")
        mark = buffer.endMark
        start = buffer.count
        self.buffer = buffer
        self.example = example
        // Times differ in length; the bytes between the time and the text do not.
        let (timeRange, textRange) = (example.createdAt?.range ?? 0..<0, example.content?.range ?? 0..<0)
        let end = start - (textRange.lowerBound - timeRange.upperBound)
        time = JSONString(range: timeRange.lowerBound..<end, hasEscapes: false)
    }

    /// The line.
    var bytes: Span<UInt8> {
        @_lifetime(borrow self)
        borrowing get { buffer.bytes }
    }

    /// The storage, for the next line.
    consuming func close() -> ByteBuffer { buffer }

    /// Replaces the text by another one, which is the inside of a JSON string. Returns the fields of the line.
    mutating func set(_ text: Span<UInt8>, hasEscapes: Bool) -> AnswerLine {
        buffer.truncate(to: mark)
        buffer.append(text)
        buffer.append(Self.ending)
        return AnswerLine(
            example, createdAt: time,
            content: JSONString(range: start..<(start &+ text.count), hasEscapes: hasEscapes))
    }
}
