import ChatterdBasics
import ChatterdChat
import ChatterdRelay

@testable import ChatterdDialects

/// What a closure appends, as text.
func text(_ write: (inout ByteBuffer) -> Void) -> String {
    var buffer = ByteBuffer()
    write(&buffer)
    return buffer.string
}

/// The context of the answers in transcripts; `estimate` are the estimated tokens of the prompt.
func context(usage: Bool = false, estimate: Int = 0) -> AnswerContext {
    var context = AnswerContext(
        reply: ReplyID(high: 0x1111_1111_2222_3333, low: 0x4444_5555_5555_5555), model: "m",
        createdAt: 1_700_000_000_000_000_000, includesUsage: usage)
    context.estimatedTokens = estimate
    return context
}

/// The id in transcripts.
let replyID = "11111111-2222-3333-4444-555555555555"

/// The stream that an encoder writes for lines, of which the last one ends the answer.
func stream(
    _ lines: [String], by translator: any ChatTranslator, usage: Bool = false, estimate: Int = 0
) -> String {
    var encoder = translator.makeEncoder(context(usage: usage, estimate: estimate))
    return text { buffer in
        encoder.begin(to: &buffer)
        for line in lines.dropLast() {
            encoder.append(PositionedLines(Array(line.utf8).span, to: ReplyPosition()), to: &buffer)
        }
        encoder.end(
            ReplyEnding(state: .complete, lastEvent: Array((lines.last ?? "").utf8)), at: ReplyPosition(), to: &buffer)
    }
}

/// An answer that is not streamed. The texts are not escaped.
func encodeWhole(
    _ text: String, thinking: String = "", calls: String = "", last: String, by translator: any ChatTranslator,
    estimate: Int = 0
) -> String {
    func buffer(_ text: String) -> ByteBuffer {
        var buffer = ByteBuffer()
        buffer.append(utf8: text)
        return buffer
    }
    let answer = WholeAnswer(
        text: buffer(text), thinking: buffer(thinking), toolCalls: buffer(calls), lastLine: Array(last.utf8))
    var body = ByteBuffer()
    translator.append(answer, context(estimate: estimate), to: &body)
    return body.string
}

/// A line with a piece of an answer.
func token(_ members: String) -> String {
    #"{"model":"u","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant",\#(members)},"done":false}"#
}

/// The last line of an answer.
func last(_ members: String = #""content":"""#, reason: String = "stop") -> String {
    #"{"model":"u","created_at":"2026-01-01T00:00:01Z","message":{"role":"assistant",\#(members)},"done":true,"#
        + #""done_reason":"\#(reason)","prompt_eval_count":5,"eval_count":7}"#
}

extension ChatTranslator {
    /// A request as the doors read it without a setting.
    func request(_ body: [UInt8]) throws(RelayError) -> DoorRequest { try request(body, .lenient) }
}

/// A request as text: the messages with their further members, and the members for the model server.
func summary(_ body: String, by translator: any ChatTranslator) throws(RelayError) -> [String] {
    let chat = try translator.request(Array(body.utf8)).chat
    return chat.messages.map { "\($0.role): \($0.content)" + ($0.extras.map { " {\($0)}" } ?? "") }
        + chat.passThrough.map { "\($0.key)=\(String(decoding: $0.value, as: UTF8.self))" }
}
