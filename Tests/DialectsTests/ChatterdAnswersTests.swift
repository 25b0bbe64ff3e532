import ChatterdBasics
import ChatterdChat
import ChatterdRelay
import Testing

@testable import ChatterdDialects

/// The answers of chatterd's own paths.
struct ChatterdAnswersTests {
    private func written(
        showsQueue: Bool = false, retry: UInt32? = nil, _ write: (inout any AnswerEncoder, inout ByteBuffer) -> Void
    ) -> String {
        var encoder = ChatterdAnswers(showsQueue: showsQueue, retry: retry).makeEncoder(context())
        return text { write(&encoder, &$0) }
    }

    @Test func streamBeginsWithTheReconnectionTimeOnlyOfAClientThatHasComeBack() {
        #expect(written { $0.begin(to: &$1) }.isEmpty)
        #expect(written(retry: 1000) { $0.begin(to: &$1) } == "retry: 1000\n")
    }

    @Test(arguments: [
        (ReplyPosition(text: 3), "3"), (ReplyPosition(text: 3, thinking: 2), "3.2"),
        (ReplyPosition(text: 3, toolCalls: 4), "3.0.4"), (ReplyPosition(attempt: 2, text: 3), "2~3"),
    ])
    func lineIsAnEventWithItsPosition(_ position: ReplyPosition, _ id: String) {
        let line = Array(token(#""content":"abc""#).utf8)
        #expect(
            written { $0.append(PositionedLines(line.span, to: position), to: &$1) }
                == "id: \(id)\ndata: \(token(#""content":"abc""#))\n\n")
    }

    @Test(arguments: [
        (ReplyState.complete, ""), (.cancelled, ""), (.failed, "event: error\n"), (.interrupted, "event: error\n"),
    ])
    func lastEventHasTheEndAsItsIDAndTheNameOfAnError(_ state: ReplyState, _ name: String) {
        let ending = ReplyEnding(state: state, lastEvent: Array("{}".utf8))
        #expect(
            written { $0.end(ending, at: ReplyPosition(text: 3), to: &$1) } == "id: 3-end\n\(name)data: {}\n\n")
    }

    @Test func errorOfTheStreamHasNoID() {
        let event = written { $0.fail(RelayError(.shuttingDown, "Bye."), at: 0, to: &$1) }
        let data = #"{"error":"Bye.","code":"shutting_down","retryable":true,"#
        #expect(event.hasPrefix("event: error\ndata: \(data)"))
    }

    @Test func resetIsAnEventAtTheStartOfTheAttempt() {
        let event = written { #expect($0.reset(to: ReplyPosition(attempt: 2), at: 0, to: &$1)) }
        #expect(event.hasPrefix("id: 2~0\nevent: reset\ndata: {\"reset\":true,\"attempt\":2,"))
    }

    @Test func queuePositionIsACommentAndAnEventOfThoseWhoWantIt() {
        let queue = QueuePosition(upstream: "u", position: 2, length: 5)
        let comment = ": queued, position 2 of 5\n\n"
        #expect(written { $0.append(queue, at: 0, to: &$1) } == comment)
        let both = written(showsQueue: true) { $0.append(queue, at: 0, to: &$1) }
        #expect(both.hasPrefix(comment + "event: queue\ndata: {"))
        #expect(both.contains(#""queue":{"upstream":"u","position":2,"length":5}"#))
    }

    /// An empty write would end a silence, and no keep-alive would follow.
    @Test(arguments: [OpenAIChat() as any AnswerTranslator, OllamaChat(), AnthropicMessages(), OpenResponses()])
    func otherFormsWriteNothingOfQueuesAndTakeNothingBack(_ translator: any AnswerTranslator) {
        var encoder = translator.makeEncoder(context())
        let nothing = text { buffer in
            encoder.append(QueuePosition(upstream: "u", position: 2, length: 5), at: 0, to: &buffer)
            #expect(!encoder.reset(to: ReplyPosition(attempt: 2), at: 0, to: &buffer))
        }
        #expect(nothing.isEmpty)
    }

    @Test func wholeAnswerHasTheWholeMessageInItsLastLine() {
        let answer = WholeAnswer(
            text: buffer("a\"b"), thinking: buffer("hm"), toolCalls: buffer("{}"), lastLine: Array(last().utf8))
        let message = #"{"role":"assistant","content":"a\"b","thinking":"hm","tool_calls":[{}]}"#
        #expect(
            text { ChatterdAnswers(showsQueue: false).append(answer, context(), to: &$0) }
                == #"{"model":"u","created_at":"2026-01-01T00:00:01Z","message":\#(message),"done":true,"#
                + #""done_reason":"stop","prompt_eval_count":5,"eval_count":7}"#)
    }

    private func buffer(_ text: String) -> ByteBuffer {
        var buffer = ByteBuffer()
        buffer.append(utf8: text)
        return buffer
    }
}
