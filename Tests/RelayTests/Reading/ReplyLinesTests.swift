import ChatterdBasics
import ChatterdChat
import ChatterdTestSupport
import Testing

@testable import ChatterdRelay

@Suite(.timeLimit(.minutes(30))) struct ReplyLinesTests {
    private static let lines = ReplyLines(model: "m", createdAt: 1_000_000_000)

    @Test func thinkingComesBeforeTextAndTextBeforeCalls() {
        let page = ReplyPage(
            start: ReplyPosition(text: 10, toolCalls: 4), text: Array("Hi \"you\"".utf8), thinking: Array("so".utf8),
            toolCalls: Array(#",{"a":[1,2]},{"b":"]"}"#.utf8))
        #expect(
            Self.all(of: page) == [
                Self.line(#""content":"","thinking":"so""#), Self.line(#""content":"Hi \"you\"""#),
                Self.line(#""content":"","tool_calls":[{"a":[1,2]},{"b":"]"}]"#),
            ])
    }

    @Test func lineBeginsAtThePositionOfTheReader() {
        let page = ReplyPage(start: ReplyPosition(text: 5), text: Array("abcdef".utf8), thinking: Array("xyz".utf8))
        let position = ReplyPosition(text: 8, thinking: 3)
        #expect(Self.all(of: page, from: position) == [Self.line(#""content":"def""#)])
        #expect(Self.all(of: page, from: ReplyPosition(text: 11, thinking: 3)).isEmpty)
        #expect(Self.all(of: page, from: ReplyPosition(text: 99, thinking: 99, toolCalls: 99)).isEmpty)
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func longTextIsCutAtWholeCharacters(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var text = String(repeating: "x", count: Int.random(in: 0..<4, using: &random))
        while text.utf8.count < 100_000 { text += random.text(upTo: 200) }
        let page = ReplyPage(start: ReplyPosition(), text: Array(text.utf8), thinking: Array(text.utf8))
        let reader = PartsReader()
        var position = page.start
        var buffer = ByteBuffer()
        while let end = Self.lines.next(in: page, after: position, into: &buffer) {
            #expect(end.total - position.total <= ReplyLines.longestText)
            let isValid = UTF8Repair.isValid(buffer.bytes)
            #expect(isValid)
            _ = reader.receive(PositionedLines(buffer.bytes, to: end))
            position = end
        }
        #expect(position == page.end)
        #expect(reader.text == page.text && reader.thinking == page.thinking)
    }

    @Test(arguments: [#""x":1}"#, #","b":2}"#, #",1]},{"c":1}"#, "]", "\""])
    func incompleteCallsAreOmitted(calls: String) {
        let page = ReplyPage(start: ReplyPosition(toolCalls: 3), toolCalls: Array(calls.utf8))
        #expect(Self.all(of: page).isEmpty)
    }

    @Test(arguments: [
        (
            #"{"message":{"role":"assistant","content":"a\"b"},"done":true}"#,
            #"{"message":{"role":"assistant","content":""},"done":true}"#
        ),
        (
            #"{"done":true,"message":{"tool_calls":[{"f":1}],"thinking":"t","content":"c"},"eval_count":3}"#,
            #"{"done":true,"message":{"tool_calls":[],"thinking":"","content":""},"eval_count":3}"#
        ),
        (#"{"message":{"content":""},"done":true}"#, #"{"message":{"content":""},"done":true}"#),
        (#"{"message":{"content":null},"done":true}"#, #"{"message":{"content":null},"done":true}"#),
        (#"{"done":true}"#, #"{"done":true}"#),
    ])
    func lastLineIsSentWithoutItsText(line: String, emptied: String) {
        let ending = ReplyEnding(state: .complete, lastEvent: Array(line.utf8))
        #expect(String(decoding: Self.lines.ending(ending).lastEvent, as: UTF8.self) == emptied)
        #expect(Self.lines.verbatim(ending) == ending)
    }

    @Test func errorIsSentUnchanged() {
        let event = Array(#"{"error":"x","message":{"role":"assistant","content":"x"},"done":true}"#.utf8)
        let ending = ReplyEnding(state: .failed, lastEvent: event)
        #expect(Self.lines.ending(ending) == ending)
    }

    @Test(arguments: [
        (ReplyState.interrupted, #""code":"interrupted","retryable":true"#), (.failed, #""code":"internal""#),
        (.cancelled, #""done":true,"done_reason":"stop","state":"cancelled"}"#),
        (.complete, #""done":true,"done_reason":"stop"}"#),
    ])
    func missingLastEventIsCreated(state: ReplyState, part: String) throws {
        let ending = ReplyEnding(state: state, lastEvent: [])
        let event = Self.lines.ending(ending).lastEvent
        #expect(String(decoding: event, as: UTF8.self).contains(part))
        let line = try AnswerLine(event.span)
        #expect(line.isDone)
        #expect(Self.lines.verbatim(ending) == Self.lines.ending(ending))
    }

    private static func line(_ content: String) -> String {
        #"{"model":"m","created_at":"1970-01-01T00:00:01.000000Z","message":{"role":"assistant",\#(content)},"done":false}"#
    }

    private static func all(of page: ReplyPage, from start: ReplyPosition? = nil) -> [String] {
        var buffer = ByteBuffer()
        var position = start ?? page.start
        var all: [String] = []
        while let end = lines.next(in: page, after: position, into: &buffer) {
            all.append(buffer.string)
            position = end
        }
        return all
    }
}
