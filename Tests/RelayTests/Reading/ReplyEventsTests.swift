import ChatterdBasics
import ChatterdChat
import ChatterdRelay
import Testing

@Suite struct ReplyEventsTests {
    private let events = ReplyEvents(model: "m\"1")
    private let time: Int64 = 1_795_171_166_491_288_961
    private let line =
        #""model":"m\"1","created_at":"2026-11-20T10:39:26.491288961Z","message":{"role":"assistant","content":"#

    @Test func errorIsReadableByClientsOfBothGenerations() {
        var buffer = ByteBuffer()
        events.appendError(
            RelayError(.model(.unavailable), "The model \"m\" is away."), at: time, to: &buffer)
        #expect(
            buffer.string == #"{"error":"The model \"m\" is away.","code":"upstream_unavailable","retryable":true,"#
                + line + #""The model \"m\" is away."},"done":true}"#)
    }

    @Test func errorIsReadBackComplete() throws {
        var buffer = ByteBuffer()
        events.appendError(RelayError(.invalidRequest, "x"), at: time, to: &buffer)
        #expect(buffer.string.contains(#""retryable":false"#))
        try expectCompleteLine(buffer)
    }

    @Test func resetIsALineWithANotice() throws {
        var buffer = ByteBuffer()
        events.appendReset(attempt: 2, at: time, to: &buffer)
        #expect(
            buffer.string == #"{"reset":true,"attempt":2,"# + line
                + #""\n\n[The answer was interrupted and is starting over.]\n\n"},"done":false}"#)
        try expectCompleteLine(buffer)
    }

    @Test func queuePositionIsALineWithoutText() throws {
        var buffer = ByteBuffer()
        events.appendQueuePosition(3, of: 7, at: time, upstream: "box", to: &buffer)
        #expect(
            buffer.string == "{" + line
                + #"""},"done":false,"queue":{"upstream":"box","position":3,"length":7}}"#)
        try expectCompleteLine(buffer)
    }

    @Test func stopIsALastLineWithTheState() throws {
        var buffer = ByteBuffer()
        events.appendStop(at: time, state: .cancelled, to: &buffer)
        #expect(
            buffer.string == "{" + line + #"""},"done":true,"done_reason":"stop","state":"cancelled"}"#)
        try expectCompleteLine(buffer)
    }

    private func expectCompleteLine(_ buffer: ByteBuffer) throws {
        let read = try AnswerLine(buffer.bytes)
        #expect(read.missing == [])
        #expect(!read.needsRepair)
    }
}
