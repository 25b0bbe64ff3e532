import ChatterdBasics
import ChatterdLanguageModels

/// A line with text alone that is written again and again: what stands around the text stays, and so does the time.
struct AnswerTextLine {
    private var buffer: ByteBuffer
    private let mark: ByteBuffer.Mark
    private let start: Int
    private let time: JSONString
    private let example: AnswerLine

    private static var ending: StaticString { "\"},\"done\":false}" }

    /// Begins a line of an answer at a time; `example` is what another one of it says.
    init(_ answer: AnswerLineWriter, at nanoseconds: Int64, like example: AnswerLine, in buffer: consuming ByteBuffer) {
        buffer.removeAll()
        answer.appendOpening(at: nanoseconds, to: &buffer)
        buffer.append("\"content\":\"")
        mark = buffer.endMark
        start = buffer.count
        self.buffer = buffer
        self.example = example
        // Times are not all equally long; what stands between the time and the text is.
        let places = (example.createdAt?.range ?? 0..<0, example.content?.range ?? 0..<0)
        let end = start - (places.1.lowerBound - places.0.upperBound)
        time = JSONString(range: places.0.lowerBound..<end, hasEscapes: false)
    }

    /// The line.
    var bytes: Span<UInt8> {
        @_lifetime(borrow self)
        borrowing get { buffer.bytes }
    }

    /// Hands the storage over.
    consuming func close() -> ByteBuffer { buffer }

    /// Writes a text into it, which is the inside of a JSON string, and returns what the line says then.
    mutating func set(_ text: Span<UInt8>, hasEscapes: Bool) -> AnswerLine {
        buffer.truncate(to: mark)
        buffer.append(text)
        buffer.append(Self.ending)
        return AnswerLine(
            example, createdAt: time,
            content: JSONString(range: start..<(start &+ text.count), hasEscapes: hasEscapes))
    }
}
