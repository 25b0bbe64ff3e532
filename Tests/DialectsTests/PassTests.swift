import ChatterdBasics
import ChatterdChat
import ChatterdRelay
import Testing

@testable import ChatterdDialects

/// Requests and answers of `/v1/completions` and `/v1/embeddings`, by the kind of the model server.
struct PassTests {
    private static let context = PassContext(id: "x", model: "m", seconds: 7)

    private func ollamaBody(_ body: String, _ translator: any PassTranslator) throws -> String {
        String(decoding: try translator.ollamaBody(of: Array(body.utf8), asking: "u:latest"), as: UTF8.self)
    }

    /// The output for an answer, which comes in pieces of a size; a problem is its last part.
    private func answer(
        _ bytes: String, piecesOf size: Int, to body: String, _ translator: any PassTranslator, isOllama: Bool = true
    ) throws -> String {
        var encoder = try translator.makeEncoder(
            for: Array(body.utf8), at: isOllama ? .ollama : .openai, Self.context)
        var output = ByteBuffer()
        do throws(PassedAnswerProblem) {
            let all = Array(bytes.utf8)
            var index = 0
            while index < all.count {
                let end = min(index + size, all.count)
                try encoder.append(all.span.extracting(index..<end), to: &output)
                index = end
            }
            try encoder.end(to: &output)
        } catch {
            switch error {
            case .reported(let body): return output.string + "reported " + String(decoding: body, as: UTF8.self)
            case .malformed: return output.string + "malformed"
            case .incomplete: return output.string + "incomplete"
            }
        }
        return output.string
    }

    private func expect(
        _ bytes: String, to body: String, _ translator: any PassTranslator, isOllama: Bool = true, is expected: String,
        at location: SourceLocation = #_sourceLocation
    ) throws {
        for size in [1, 7, 1_000_000] {
            let found = try answer(bytes, piecesOf: size, to: body, translator, isOllama: isOllama)
            #expect(found == expected, sourceLocation: location)
        }
    }

    // MARK: - Completions

    @Test func completionIsAskedForAsAGeneration() throws {
        #expect(
            try ollamaBody(
                #"{"model":"m","prompt":["Once"],"suffix":"end","max_tokens":9,"temperature":0,"stop":"\n","stream":true,"stream_options":{"include_usage":true},"n":1,"echo":false,"logprobs":null,"top_k":3}"#,
                OpenAICompletions())
                == #"{"model":"u:latest","prompt":"Once","stream":true,"suffix":"end","top_k":3,"options":{"num_predict":9,"temperature":0,"stop":["\n"]}}"#
        )
    }

    @Test(arguments: [
        (#"{}"#, "prompt"), (#"{"prompt":""}"#, "prompt"), (#"{"prompt":[1,2]}"#, "prompt"),
        (#"{"prompt":["a","b"]}"#, "prompt"), (#"{"prompt":"a","echo":true}"#, "echo"), (#"{"prompt":"a","n":2}"#, "n"),
        (#"{"prompt":"a","stream":1}"#, "stream"),
        (#"{"prompt":"a","best_of":3}"#, "best_of"), (#"{"prompt":"a","logprobs":0}"#, "logprobs"),
    ])
    func completionThatNoOllamaCanMakeIsRefused(_ body: String, _ parameter: String) throws {
        let fault = #expect(throws: RelayError.self) { try ollamaBody(body, OpenAICompletions()) }
        #expect(fault?.parameter == parameter)
    }

    private static let head = #"data: {"id":"cmpl-x","object":"text_completion","created":7,"model":"m","choices":["#

    private static func event(_ text: String, _ reason: String = "null") -> String {
        head + #"{"index":0,"text":"\#(text)","logprobs":null,"finish_reason":\#(reason)}]}"# + "\n\n"
    }

    private static let lines = [
        #"{"model":"u","response":"On\"ce","done":false}"#, #"{"model":"u","response":" é\u00e9","done":false}"#,
        #"{"model":"u","response":"","done":true,"done_reason":"length","prompt_eval_count":5,"eval_count":7}"#,
    ].map { $0 + "\n" }

    @Test func linesOfAnOllamaAreEventsOfACompletion() throws {
        let texts = Self.event(#"On\"ce"#) + Self.event(#" é\u00e9"#) + Self.event("", #""length""#)
        let usage =
            Self.head.dropLast("[".utf8.count)
            + #"[],"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12}}"# + "\n\n"
        let end = "data: [DONE]\n\n"
        let stream = #"{"prompt":"a","stream":true}"#
        try expect(Self.lines.joined(), to: stream, OpenAICompletions(), is: texts + end)
        // The line end behind the last line may be missing.
        try expect(String(Self.lines.joined().dropLast()), to: stream, OpenAICompletions(), is: texts + end)
        try expect(
            Self.lines.joined(), to: #"{"prompt":"a","stream":true,"stream_options":{"include_usage":true}}"#,
            OpenAICompletions(), is: texts + usage + end)
    }

    @Test func cutLinesAreNoWholeCompletion() throws {
        let stream = #"{"prompt":"a","stream":true}"#
        try expect(Self.lines[0], to: stream, OpenAICompletions(), is: Self.event(#"On\"ce"#) + "incomplete")
        try expect("", to: stream, OpenAICompletions(), is: "incomplete")
        try expect(
            Self.lines[0] + #"{"error":"gone"}"# + "\n", to: stream, OpenAICompletions(),
            is: Self.event(#"On\"ce"#) + #"reported {"error":"gone"}"#)
        try expect("<html>\n", to: stream, OpenAICompletions(), is: "malformed")
        try expect(#"{"response":"a","done":false}"#, to: #"{"prompt":"a"}"#, OpenAICompletions(), is: "incomplete")
    }

    @Test func completionWithoutStreamHasTheFormOfTheAPI() throws {
        try expect(
            #"{"response":"Once","done":true,"done_reason":"stop","prompt_eval_count":5,"eval_count":7}"#,
            to: #"{"prompt":"a"}"#, OpenAICompletions(),
            is:
                #"{"id":"cmpl-x","object":"text_completion","created":7,"model":"m","choices":[{"index":0,"text":"Once","logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12}}"#
        )
    }

    @Test func encoderHoldsTheBegunLineOnly() throws {
        let stream = Array(#"{"prompt":"a","stream":true}"#.utf8)
        for (kind, line) in [(UpstreamDescription.Kind.ollama, #"{"response":"a""#), (.openai, #"data: {"choices":["#)]
        {
            var encoder = try OpenAICompletions().makeEncoder(for: stream, at: kind, Self.context)
            var output = ByteBuffer()
            try encoder.append(Array(line.utf8).span, to: &output)
            #expect(encoder.heldSize == line.utf8.count)
        }
    }

    @Test func eventsOfAnotherServerArePassedOn() throws {
        let stream = #"{"prompt":"a","stream":true,"n":2}"#
        let events = [#"data: {"choices":[{"text":"a"}]}"#, #"data: {"choices":[],"error":null}"#, "data: [DONE]"]
        let all = events.joined(separator: "\n\n") + "\n\n"
        try expect(
            ": ping\r\n\r\n" + all.replacing("\n", with: "\r\n"), to: stream, OpenAICompletions(), isOllama: false,
            is: all)
        try expect(String(all.dropLast(2)), to: stream, OpenAICompletions(), isOllama: false, is: all)
        try expect(
            "data: {\"a\":\ndata: 1}\n\n", to: stream, OpenAICompletions(), isOllama: false,
            is: "data: {\"a\":\ndata: 1}\n\nincomplete")
    }

    @Test func streamWithoutItsEndIsIncomplete() throws {
        let stream = #"{"prompt":"a","stream":true}"#
        let event = #"data: {"choices":[{"text":"a","finish_reason":"stop"}]}"# + "\n\n"
        try expect(event, to: stream, OpenAICompletions(), isOllama: false, is: event + "incomplete")
        try expect("", to: stream, OpenAICompletions(), isOllama: false, is: "incomplete")
        // vLLM sends [DONE] after an error.
        try expect(
            event + #"data: {"error":{"message":"gone","code":500}}"# + "\n\ndata: [DONE]\n\n", to: stream,
            OpenAICompletions(), isOllama: false, is: event + #"reported {"error":{"message":"gone","code":500}}"#)
        try expect(
            event + "data: {\n\n", to: stream, OpenAICompletions(), isOllama: false, is: event + "malformed")
    }

    // MARK: - Embeddings

    @Test func embeddingsAreAskedForInOllamasForm() throws {
        #expect(
            try ollamaBody(
                #"{"model":"m","input":["a","b"],"encoding_format":"base64","dimensions":2,"user":"u"}"#,
                OpenAIEmbeddings()) == #"{"model":"u:latest","input":["a","b"],"dimensions":2,"user":"u"}"#)
    }

    @Test(arguments: [
        "{}", #"{"input":""}"#, #"{"input":[]}"#, #"{"input":[1,2]}"#, #"{"input":[[1]]}"#, #"{"input":{}}"#,
        #"{"input":["a",1]}"#, #"{"input":null}"#,
    ])
    func inputThatIsNoTextIsRefused(_ body: String) throws {
        let fault = #expect(throws: RelayError.self) { try ollamaBody(body, OpenAIEmbeddings()) }
        #expect(fault?.parameter == "input")
    }

    @Test(arguments: ["[[9906,1917]]", "[9906,1917]", "[" + String(repeating: "7,", count: 5_000) + "7]"])
    func refusalOfTokensNamesTheOptionOfLangChain(_ input: String) {
        let body = #"{"model":"m","input":\#(input)}"#
        let fault = #expect(throws: RelayError.self) { try ollamaBody(body, OpenAIEmbeddings()) }
        #expect(fault?.message.contains("check_embedding_ctx_length=False") == true)
    }

    @Test func unknownEncodingIsRefused() throws {
        let body = Array(#"{"input":"a","encoding_format":"hex"}"#.utf8)
        let fault = #expect(throws: RelayError.self) {
            try OpenAIEmbeddings().makeEncoder(for: body, at: .ollama, Self.context)
        }
        #expect(fault?.parameter == "encoding_format")
    }

    @Test func vectorsAreInOpenAIsForm() throws {
        let answer = #"{"model":"u","embeddings":[[1, -0.5,2e-3],[0,0,0]],"prompt_eval_count":4}"#
        func expected(_ one: String, _ two: String) -> String {
            #"{"object":"list","data":[{"object":"embedding","index":0,"embedding":\#(one)},{"object":"embedding","index":1,"embedding":\#(two)}],"model":"m","usage":{"prompt_tokens":4,"total_tokens":4}}"#
        }
        try expect(
            answer, to: #"{"input":["a","b"]}"#, OpenAIEmbeddings(), is: expected("[1, -0.5,2e-3]", "[0,0,0]"))
        // struct.pack("<3f", 1, -0.5, 2e-3) in Base64.
        try expect(
            answer, to: #"{"input":["a","b"],"encoding_format":"base64"}"#, OpenAIEmbeddings(),
            is: expected(#""AACAPwAAAL9vEgM7""#, #""AAAAAAAAAAAAAAAA""#))
    }

    @Test func answerWithoutVectorsIsMalformed() throws {
        for answer in [#"{"embeddings":null}"#, #"{"embeddings":[1]}"#, "[]", "", #"{"embeddings":[["#] {
            try expect(
                answer, to: #"{"input":"a"}"#, OpenAIEmbeddings(), is: answer.isEmpty ? "incomplete" : "malformed")
        }
        try expect(
            #"{"embeddings":[["x"]]}"#, to: #"{"input":"a","encoding_format":"base64"}"#, OpenAIEmbeddings(),
            is: #"{"object":"list","data":[{"object":"embedding","index":0,"embedding":malformed"#)
    }

    @Test func answerOfAnotherServerIsPassedOnAsItIs() throws {
        let answer = #"{"object":"list", "data":[], "error":null}"#
        try expect(answer, to: #"{"input":[1]}"#, OpenAIEmbeddings(), isOllama: false, is: answer)
        try expect(
            #"{"error":"no"}"#, to: #"{"input":"a"}"#, OpenAIEmbeddings(), isOllama: false,
            is: #"reported {"error":"no"}"#)
    }

    @Test func noOtherKindHasThesePaths() {
        for translator in [OpenAIEmbeddings() as any PassTranslator, OpenAICompletions()] {
            #expect(translator.path(at: .llamastack) == nil && translator.path(at: .echo) == nil)
            #expect(translator.path(at: .openai) != nil && translator.path(at: .ollama) != nil)
        }
    }
}
