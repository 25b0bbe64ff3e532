import ChatterdBasics
import ChatterdHTTP
import Testing

@Suite struct EventEncoderTests {
    private func encode(_ data: String, name: EventName? = nil) -> String {
        var buffer = ByteBuffer()
        let bytes = Array(data.utf8)
        EventEncoder.append(name: name, data: bytes.span, to: &buffer)
        return buffer.string
    }

    @Test(arguments: [
        ("hello", "data: hello\n\n"), ("", "data: \n\n"), (" x", "data:  x\n\n"), ("a:b", "data: a:b\n\n"),
        ("a\nb", "data: a\ndata: b\n\n"), ("a\rb", "data: a\ndata: b\n\n"), ("a\r\nb", "data: a\ndata: b\n\n"),
        ("a\n\rb", "data: a\ndata: \ndata: b\n\n"), ("a\n", "data: a\ndata: \n\n"), ("\r\n", "data: \ndata: \n\n"),
        ("a\r", "data: a\ndata: \n\n"), ("\u{2028}", "data: \u{2028}\n\n"), ("\u{85}\u{0B}", "data: \u{85}\u{0B}\n\n"),
        (
            "0123456\r789\n012345678901234567890\r\n",
            "data: 0123456\ndata: 789\ndata: 012345678901234567890\ndata: \n\n"
        ),
    ]) func dataIsSplitAtItsLineEnds(_ data: String, _ expected: String) {
        #expect(encode(data) == expected)
    }

    @Test func nameOfAnEventPrecedesItsData() throws {
        let name = try #require(EventName("tick"))
        #expect(encode("x", name: name) == "event: tick\ndata: x\n\n")
        #expect(encode("x", name: .error) == "event: error\ndata: x\n\n")
    }

    @Test func numberIsAnID() {
        var buffer = ByteBuffer()
        let data = [UInt8(ascii: "x")]
        buffer.append(upTo: 2 * EventEncoder.lineOverhead + 1) {
            EventEncoder.append(id: 1234, line: data.span, to: &$0)
            EventEncoder.append(id: 0, line: data.span.extracting(0..<0), to: &$0)
        }
        #expect(buffer.string == "id: 1234\ndata: x\n\nid: 0\ndata: \n\n")
    }

    @Test func idOfAnyBytesIsWrittenInPlace() {
        var buffer = ByteBuffer()
        let data = Array("x\ny".utf8)
        EventEncoder.append(data: data.span, to: &buffer) { $0.append("12.5") }
        EventEncoder.append(name: .reset, data: data.span.extracting(first: 1), to: &buffer) { $0.append("2~0-end") }
        #expect(buffer.string == "id: 12.5\ndata: x\ndata: y\n\nid: 2~0-end\nevent: reset\ndata: x\n\n")
    }

    @Test func commentStaysOnOneLineAndHasAColon() {
        var buffer = ByteBuffer()
        EventEncoder.append(comment: "keep\r\nalive\0", to: &buffer)
        EventEncoder.append(comment: "", to: &buffer)
        #expect(buffer.string == ": keep  alive \n\n: \n\n")
    }

    @Test func retryTimeIsWritten() {
        var buffer = ByteBuffer()
        EventEncoder.append(retry: 1500, to: &buffer)
        #expect(buffer.string == "retry: 1500\n")
    }

    @Test(arguments: ["a\nb", "a\r", "\0"]) func nameOfTwoLinesIsInvalid(_ text: String) {
        #expect(EventName(text) == nil)
    }

    @Test func nameIsNotEmpty() {
        #expect(EventName("") == nil)
    }
}
