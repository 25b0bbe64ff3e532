import ChatterdBasics
import ChatterdChat
import Testing

@testable import ChatterdDialects
@testable import ChatterdRelay

/// A run of token lines gives the same bytes as its lines one by one.
struct EncoderRunTests {
    @Test(arguments: [
        OpenAIChat() as any AnswerTranslator, OllamaChat(), OllamaGenerate(), AnthropicMessages(),
        ChatterdAnswers(showsQueue: false), ChatterdAnswers(showsQueue: false, course: .locationAndToolCalls),
    ])
    func runOfTokensIsWrittenLikeItsLines(_ translator: any AnswerTranslator) throws {
        let lines = ["a", "\\n", "\\\"b\\\"", "é"].map { token("\"content\":\"\($0)\"") }
        let all = Array((lines.joined(separator: "\n") + "\n").utf8)
        var table: [TokenLine] = []
        var ends: [Int] = []
        var start = 0
        for line in lines {
            let fields = try AnswerLine(Array(line.utf8).span)
            let (time, content) = (try #require(fields.createdAt), try #require(fields.content))
            func moved(_ string: JSONString) -> JSONString {
                JSONString(
                    range: string.range.lowerBound + start..<string.range.upperBound + start,
                    hasEscapes: string.hasEscapes)
            }
            table.append(TokenLine(start..<start + line.utf8.count, createdAt: moved(time), content: moved(content)))
            start += line.utf8.count + 1
            ends.append(start)
        }
        let example = try AnswerLine(Array(lines[0].utf8).span)
        var encoder = translator.makeEncoder(context())
        let run = LineRun(all.span, tokens: table.span, like: example)
        let written = text {
            encoder.append(PositionedLines(run, textEnds: ends.span, to: ReplyPosition(text: start)), to: &$0)
        }
        var single = translator.makeEncoder(context())
        let expected = text { buffer in
            for (line, end) in zip(lines, ends) {
                single.append(PositionedLines(Array(line.utf8).span, to: ReplyPosition(text: end)), to: &buffer)
            }
        }
        #expect(written == expected && !written.isEmpty)
    }
}
