import ChatterdBasics
import ChatterdChat
import Testing

@testable import ChatterdDialects

/// What a front door writes, the decoder of the same API reads: chatterd may be a model server of another chatterd.
struct RoundTripTests {
    struct API: CustomTestStringConvertible, Sendable {
        let kind: UpstreamDescription.Kind
        let door: any ChatTranslator
        var testDescription: String { kind.rawValue }
    }

    private static let apis = [API(kind: .ollama, door: OllamaChat()), API(kind: .openai, door: OpenAIChat())]
    private static let lines = [
        token(#""content":"","thinking":"h\"m\n""#), token(#""content":"a\"\\ \u0001\n""#),
        token(#""content":"é👩‍👩‍👧 <&> ""#), token(#""content":"\ud83d\ude00""#), token(#""content":"[DONE]""#),
        token(#""content":"data: {}\n\n""#),
        token(
            #""content":"","tool_calls":[{"id":"c1","function":{"index":0,"name":"f","arguments":{"a":["\"",1e3]}}}]"#),
    ]

    @Test(arguments: apis, [1, 2, 7, 1 << 20])
    func answerIsReadAsItWasWritten(_ api: API, pieces size: Int) throws {
        let bytes = Array(stream(Self.lines + [last()], by: api.door).utf8)
        let decoder = api.kind.dialect(at: "localhost").makeDecoder(
            model: "m", limits: GenerationLimits(), now: { 0 })
        var answer = Answer()
        let take = { (run: LineRun) -> Bool in
            for index in 0..<run.count { answer.add(run.line(at: index)) }
            return true
        }
        for start in stride(from: 0, to: bytes.count, by: size) {
            _ = try decoder.read(bytes[start..<min(start + size, bytes.count)].span, take)
        }
        if !answer.isDone { try decoder.finish(take) }
        var expected = Answer()
        for line in Self.lines + [last()] { expected.add(Array(line.utf8).span) }
        #expect(answer == expected && answer.isDone && answer.calls.count == 1)
    }

    /// The parts of an answer, decoded.
    private struct Answer: Equatable {
        var text = ""
        var thinking = ""
        var calls: [String] = []
        var isDone = false

        mutating func add(_ line: Span<UInt8>) {
            guard let fields = try? AnswerLine(line) else {
                text += "no line"
                return
            }
            func decoded(_ string: JSONString?) -> String {
                string.map { String(decodingJSON: line.extracting($0.range)) } ?? ""
            }
            text += decoded(fields.content)
            thinking += decoded(fields.thinking)
            if let range = fields.toolCalls { calls.append(Self.functions(of: line.extracting(range))) }
            isDone = isDone || fields.isDone
        }

        /// The names and the arguments of calls; ids are each API's own.
        private static func functions(of calls: Span<UInt8>) -> String {
            var text = ""
            var reader = JSONReader(calls)
            do throws(JSONError) {
                try reader.beginArray()
                while try reader.nextElement() {
                    let call = try ToolCallRanges(from: &reader)
                    for range in [call.name, call.arguments ?? 0..<0] {
                        let part = reader.bytes.extracting(range)
                        text += part.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) } + ";"
                    }
                }
            } catch {
                text += "\(error)"
            }
            return text
        }
    }
}
