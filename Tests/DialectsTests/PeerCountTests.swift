import ChatterdBasics
import ChatterdChat
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdDialects
@testable import ChatterdRelay

/// Numbers of model servers and stored rows, in the place of counts, at every front door.
struct PeerCountTests {
    private func last(_ number: PeerNumber) -> String {
        #"{"model":"u","created_at":"2026-01-01T00:00:01Z","message":{"role":"assistant","content":""},"done":true,"#
            + #""done_reason":"stop","prompt_eval_count":\#(number.text),"eval_count":\#(number.text)}"#
    }

    private func object(_ text: some StringProtocol) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    /// The data of the events of a stream that are objects.
    private func lines(of stream: String) -> [String] {
        stream.split(separator: "\n").filter { $0.hasPrefix("data: {") }.map { String($0.dropFirst(6)) }
    }

    private func expect(
        _ usage: Any?, _ names: [String], are count: Int, _ total: String? = nil,
        at location: SourceLocation = #_sourceLocation
    ) {
        let usage = usage as? [String: Any]
        for name in names { #expect(usage?[name] as? Int == count, sourceLocation: location) }
        if let total { #expect(usage?[total] as? Int == names.count * count, sourceLocation: location) }
    }

    @Test(arguments: PeerNumber.all)
    func countsThatOverflowAreNotAdded(_ number: PeerNumber) throws {
        let (last, count) = (last(number), number.count ?? 0)
        let openAI = ["prompt_tokens", "completion_tokens"]
        let chat = encodeWhole("a", last: last, by: OpenAIChat())
        expect(try object(chat)["usage"], openAI, are: count, "total_tokens")
        let chunks = lines(of: stream([last], by: OpenAIChat(), usage: true))
        expect(try object(try #require(chunks.last))["usage"], openAI, are: count, "total_tokens")

        let anthropic = ["input_tokens", "output_tokens"]
        expect(try object(encodeWhole("a", last: last, by: AnthropicMessages()))["usage"], anthropic, are: count)
        let delta = lines(of: stream([last], by: AnthropicMessages())).first { $0.contains("message_delta") }
        expect(try object(try #require(delta))["usage"], anthropic, are: count)

        for ollama in [OllamaChat() as any ChatTranslator, OllamaGenerate()] {
            #expect(!stream([last], by: ollama).isEmpty)
        }
    }

    @Test(arguments: PeerNumber.all)
    func countsOfAStoredReplyAreNotAdded(_ number: PeerNumber) throws {
        let lastEvent = last(number)
        var body = ByteBuffer()
        ResponseDocument(context()).append(
            ReplyPage(
                start: ReplyPosition(), text: Array("a".utf8),
                ending: ReplyEnding(state: .complete, lastEvent: Array(lastEvent.utf8))), to: &body)
        let events = try ResponseTranscript([lastEvent]).events
        let end = try object(try #require(events.last))["response"] as? [String: Any]
        for response in [try object(body.string), end] {
            let usage = response?["usage"]
            if let count = number.count {
                expect(usage, ["input_tokens", "output_tokens"], are: count, "total_tokens")
            } else {
                #expect(usage is NSNull)
            }
        }
    }

    @Test(arguments: PeerNumber.all)
    func countsOfPassedAnswersAreNotAdded(_ number: PeerNumber) throws {
        let context = PassContext(id: "x", model: "m", seconds: 7)
        let count = number.count ?? 0
        let end = #""done":true,"prompt_eval_count":\#(number.text),"eval_count":\#(number.text)}"#
        let answers: [(any PassTranslator, String, String)] = [
            (OpenAICompletions(), #"{"prompt":"a"}"#, #"{"response":"a","# + end),
            (
                OpenAICompletions(), #"{"prompt":"a","stream":true,"stream_options":{"include_usage":true}}"#,
                #"{"response":"a","# + end + "\n"
            ), (OpenAIEmbeddings(), #"{"input":"a"}"#, #"{"embeddings":[[1]],"# + end),
        ]
        for (translator, request, answer) in answers {
            var output = ByteBuffer()
            var encoder = try translator.makeEncoder(for: Array(request.utf8), at: .ollama, context)
            try encoder.append(Array(answer.utf8).span, to: &output)
            try encoder.end(to: &output)
            let usage = try object(lines(of: output.string).last { $0.contains("usage") } ?? output.string)["usage"]
            if translator is OpenAIEmbeddings {
                expect(usage, ["prompt_tokens"], are: count, "total_tokens")
            } else {
                expect(usage, ["prompt_tokens", "completion_tokens"], are: count, "total_tokens")
            }
        }
    }
}
