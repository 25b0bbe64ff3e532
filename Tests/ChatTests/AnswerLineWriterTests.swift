import ChatterdBasics
import ChatterdChat
import Testing

@Suite(.timeLimit(.minutes(30))) struct AnswerLineWriterTests {
    private let answer = AnswerLineWriter(model: "m\"1")
    private let time: Int64 = 1_795_171_166_491_288_961
    private let opening =
        #"{"model":"m\"1","created_at":"2026-11-20T10:39:26.491288961Z","message":{"role":"assistant","content":"#

    @Test func textBecomesALine() {
        var buffer = ByteBuffer()
        let text = Array("a\"b\n".utf8)
        answer.append(content: text.span, at: time, to: &buffer)
        #expect(buffer.string == opening + #""a\"b\n"},"done":false}"#)
    }

    @Test func thinkingAndToolCallsHaveEmptyContent() {
        var buffer = ByteBuffer()
        let thinking = Array("hm".utf8)
        answer.append(thinking: thinking.span, at: time, to: &buffer)
        #expect(buffer.string == opening + #""","thinking":"hm"},"done":false}"#)
        buffer.removeAll()
        let calls = Array(#"[{"function":{"name":"f"}}]"#.utf8)
        answer.append(toolCalls: calls.span, at: time, to: &buffer)
        #expect(buffer.string == opening + #""","tool_calls":[{"function":{"name":"f"}}]},"done":false}"#)
    }

    @Test func lastLineHasTheReasonAndTheKnownCounts() {
        var buffer = ByteBuffer()
        answer.appendEnd(at: time, doneReason: "stop", promptTokens: 18, answerTokens: nil, to: &buffer)
        #expect(buffer.string == opening + #"""},"done":true,"done_reason":"stop","prompt_eval_count":18}"#)
        buffer.removeAll()
        answer.appendEnd(at: time, doneReason: "length", promptTokens: nil, answerTokens: 7, to: &buffer)
        #expect(buffer.string == opening + #"""},"done":true,"done_reason":"length","eval_count":7}"#)
    }

    @Test func linesAreReadBackComplete() throws {
        var lines: [ByteBuffer] = []
        let text = Array("x".utf8)
        var buffer = ByteBuffer()
        answer.append(content: text.span, at: time, to: &buffer)
        lines.append(buffer)
        buffer.removeAll()
        answer.appendEnd(at: time, doneReason: "stop", promptTokens: 1, answerTokens: 2, to: &buffer)
        lines.append(buffer)
        for line in lines {
            let read = try AnswerLine(line.bytes)
            #expect(read.missing == [])
            #expect(!read.needsRepair)
        }
    }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000000Z"), (1, "1970-01-01T00:00:00.000000001Z"),
        (-1, "1969-12-31T23:59:59.999999999Z"),
        (1_000, "1970-01-01T00:00:00.000001Z"), (951_782_400_000_000_000, "2000-02-29T00:00:00.000000Z"),
        (951_868_799_999_999_000, "2000-02-29T23:59:59.999999Z"),
        (951_868_800_000_000_000, "2000-03-01T00:00:00.000000Z"),
        (1_709_164_800_000_000_000, "2024-02-29T00:00:00.000000Z"),
        (1_735_689_599_000_000_000, "2024-12-31T23:59:59.000000Z"),
        (1_735_689_600_000_000_000, "2025-01-01T00:00:00.000000Z"),
        (4_107_542_400_000_000_000, "2100-03-01T00:00:00.000000Z"),
        (4_107_456_000_000_000_000, "2100-02-28T00:00:00.000000Z"),
        (-2_203_891_200_000_000_000, "1900-03-01T00:00:00.000000Z"),
        (1_795_171_166_491_288_961, "2026-11-20T10:39:26.491288961Z"), (Int64.max, "2262-04-11T23:47:16.854775807Z"),
        (Int64.min, "1677-09-21T00:12:43.145224192Z"),
    ])
    func timesAreWrittenAsRFC3339(_ nanoseconds: Int64, _ expected: String) {
        var buffer = ByteBuffer()
        buffer.append(rfc3339: nanoseconds)
        #expect(buffer.string == expected)
    }
}
