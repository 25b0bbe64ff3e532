import ChatterdChat
import ChatterdTestSupport
import Testing

@testable import ChatterdDialects

/// Numbers of model servers, in the place of counts, through every decoder.
struct PeerCountTests {
    /// The counts of the last line of an answer, which must be whole.
    private func counts(
        _ kind: UpstreamDescription.Kind, _ pieces: [String]
    ) throws -> (prompt: Int?, answer: Int?) {
        let decoded = try DecodedAnswer([Array(pieces.joined().utf8)], of: kind)
        #expect(decoded.error == nil)
        let text = try #require(decoded.lines.last)
        let last = Array(text.utf8)
        let line = try AnswerLine(last.span)
        // Lines of kind ollama stay as they came. The others are written here.
        if kind != .ollama {
            #expect(text.contains("prompt_eval_count") == (line.promptTokens != nil), "\(text)")
            #expect(text.contains("\"eval_count") == (line.answerTokens != nil), "\(text)")
        }
        #expect(line.isDone)
        return (line.promptTokens, line.answerTokens)
    }

    @Test(arguments: PeerNumber.all)
    func countOutOfBoundsIsNotGiven(_ number: PeerNumber) throws {
        let text = number.text
        let answers: [(UpstreamDescription.Kind, [String])] = [
            (
                .ollama,
                [
                    #"{"model":"m","message":{"role":"assistant","content":"a"},"done":false}"# + "\n",
                    #"{"model":"m","message":{"content":""},"done":true,"prompt_eval_count":\#(text),"eval_count":\#(text)}"#
                        + "\n",
                ]
            ),
            (
                .openai,
                [
                    OpenAIStream.token("a"), OpenAIStream.finish,
                    OpenAIStream.event(
                        #"{"choices":[],"usage":{"prompt_tokens":\#(text),"completion_tokens":\#(text)}}"#),
                    OpenAIStream.done,
                ]
            ),
            (
                .openai,
                [
                    OpenAIStream.token("a"),
                    OpenAIStream.event(
                        #"{"choices":[{"delta":{},"finish_reason":"stop"}],"timings":{"prompt_n":\#(text),"predicted_n":\#(text),"prompt_ms":\#(text),"predicted_ms":\#(text)}}"#
                    ), OpenAIStream.done,
                ]
            ),
            (
                .llamastack,
                [
                    OpenAIStream.event(#"{"event":{"event_type":"progress","delta":{"type":"text","text":"a"}}}"#),
                    OpenAIStream.event(
                        #"{"event":{"event_type":"complete","delta":{"type":"text","text":""},"stop_reason":"end_of_turn"},"metrics":[{"metric":"prompt_tokens","value":\#(text)},{"metric":"completion_tokens","value":\#(text)}]}"#
                    ),
                ]
            ),
        ]
        for (index, answer) in answers.enumerated() {
            let found = try counts(answer.0, answer.1)
            #expect(found.prompt == number.count && found.answer == number.count, "answer \(index)")
        }
    }

    /// llama.cpp counts the tokens in its cache apart.
    @Test(arguments: [("7", 12), ("9007199254740992", nil), ("9223372036854775807", 5), ("-1", 5)] as [(String, Int?)])
    func countsThatOverflowAreNotAdded(_ cached: String, _ sum: Int?) throws {
        let end = OpenAIStream.event(
            #"{"choices":[{"delta":{},"finish_reason":"stop"}],"timings":{"cache_n":\#(cached),"prompt_n":5,"predicted_n":1}}"#
        )
        let found = try counts(.openai, [OpenAIStream.token("a"), end, OpenAIStream.done])
        #expect(found.prompt == sum && found.answer == 1)
    }

    @Test(arguments: PeerNumber.all)
    func refusalWithImpossibleNumbersHasNone(_ number: PeerNumber) {
        let expected = number.count.flatMap { $0 > 0 ? $0 : nil }
        let object = Array(
            #"{"error":{"message":"x","n_ctx":\#(number.text),"n_prompt_tokens":\#(number.text)}}"#.utf8)
        let body = UpstreamErrorBody(object.span)
        #expect(body.contextLength == expected && body.promptTokens == expected)
        let words = ContextNumbers(
            in: "maximum context length is \(number.text) tokens, but you requested \(number.text) tokens")
        for found in [words.contextLength, words.promptTokens] { #expect(found == nil || 0...1 << 53 ~= found ?? 0) }
    }
}
