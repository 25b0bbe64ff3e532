import ChatterdBasics
import ChatterdChat
import ChatterdTestSupport

/// The lines of a run as bytes and a table.
struct TokenTable {
    private(set) var bytes: [UInt8] = []
    private(set) var tokens: [TokenLine] = []
    let example: AnswerLine

    /// Writes a line for each text; there must be one.
    init(_ texts: [String], model: String) throws {
        var example: AnswerLine?
        for text in texts {
            var line = ByteBuffer()
            AnswerLineWriter(model: model).append(content: text.utf8.span, at: 0, to: &line)
            let fields = try AnswerLine(line.bytes)
            guard let time = fields.createdAt, let content = fields.content else { throw TestFailure("not a token") }
            let start = bytes.count
            tokens.append(
                TokenLine(
                    start..<(start + line.count), createdAt: Self.move(time, by: start),
                    content: Self.move(content, by: start)))
            bytes += line.array + [UInt8(ascii: "\n")]
            example = fields
        }
        guard let example else { throw TestFailure("no lines") }
        self.example = example
    }

    private static func move(_ string: JSONString, by offset: Int) -> JSONString {
        JSONString(
            range: (string.range.lowerBound + offset)..<(string.range.upperBound + offset),
            hasEscapes: string.hasEscapes)
    }
}
