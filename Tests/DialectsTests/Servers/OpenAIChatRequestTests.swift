import ChatterdBasics
import ChatterdTestSupport
import Testing

@testable import ChatterdChat
@testable import ChatterdDialects

/// Requests in OpenAI's dialect.
@Suite(.timeLimit(.minutes(30))) struct OpenAIChatRequestTests {
    /// The body of a request; the messages are JSON objects in Ollama's shape, the members `"key":value`.
    private func body(
        _ messages: [String] = [#"{"role":"user","content":"Hi"}"#], members: String = "", isOpenAI: Bool = false,
        _ change: (inout GenerationRequest) -> Void = { _ in }
    ) throws -> String {
        var encoded = EncodedConversation()
        for message in messages {
            encoded.append(try ModelMessage(decoding: Array(message.utf8).span, at: 0))
        }
        var request = GenerationRequest(
            model: "tiny", messages: encoded, passThrough: try [RawMember](decodingMembers: Array(members.utf8)))
        change(&request)
        let body = try OpenAIServer(isOpenAI: isOpenAI).body(of: request)
        try JSONReader.validate(body.joined.bytes)
        return body.string
    }

    /// A model server may have sent such calls in an earlier answer; they are stored and sent again.
    @Test(arguments: [#""tool_calls":["x"]"#, #""tool_calls":[{"function":{"name":"f"}},1]"#, #""images":[1]"#])
    func extrasOfUnknownFormAreRejected(_ extras: String) throws {
        var encoded = EncodedConversation()
        encoded.append(ModelMessage(role: "assistant", content: "", extras: extras))
        let error = #expect(throws: ModelError.self) {
            try OpenAIServer(isOpenAI: false).body(of: GenerationRequest(model: "tiny", messages: encoded))
        }
        #expect(error?.code == .unsupported)
    }

    private func messages(_ messages: [String]) throws -> String {
        let body = try body(messages)
        let ending = #"],"stream":true,"stream_options":{"include_usage":true}}"#
        #expect(body.hasPrefix(#"{"model":"tiny","messages":["#) && body.hasSuffix(ending))
        return String(body.dropFirst(28).dropLast(ending.count))
    }

    private func members(_ members: String, isOpenAI: Bool = false) throws -> String {
        let body = try body(members: members, isOpenAI: isOpenAI)
        let opening = #"{"model":"tiny","messages":[{"role":"user","content":"Hi"}],"stream":true,"#
        #expect(body.hasPrefix(opening))
        return String(body.dropFirst(opening.count).dropLast())
    }

    @Test func textIsUnchanged() throws {
        let said = [
            #"{"role":"system","content":"Be \"brief\"."}"#, #"{"role":"user","content":"a\n😀"}"#,
            #"{"role":"assistant","content":""}"#,
        ]
        #expect(try messages(said) == said.joined(separator: ","))
        #expect(try messages([]) == "")
    }

    /// A client may send megabytes of them: work in quadratic time would delay all other requests.
    @Test func manyOptionsAndCallsAreFast() throws {
        let options = (0..<100_000).map { "\"o\($0)\":1" }.joined(separator: ",")
        let said = try members("\"options\":{\(options),\"o7\":2}")
        #expect(said.hasPrefix(#""o0":1,"o1":1,"#) && said.contains(#","o7":2,"#) && said.contains(#","o99999":1,"#))
        let calls = (0..<20_000).map { "{\"id\":\"c\($0)\",\"function\":{\"name\":\"f\",\"arguments\":{}}}" }
        let byID = (10_000..<20_000).reversed().map { #"{"role":"tool","tool_call_id":"c\#($0)","content":""}"# }
        let byName = (0..<9_999).map { _ in #"{"role":"tool","tool_name":"f","content":""}"# }
        let results = byID + byName + [#"{"role":"tool","content":"z"}"#]
        let text = try messages(["{\"role\":\"assistant\",\"tool_calls\":[\(calls.joined(separator: ","))]}"] + results)
        // Results without an id belong to the first calls that have none.
        #expect(text.contains(#"{"role":"tool","content":"","tool_call_id":"c9998"}"#))
        #expect(text.hasSuffix(#"{"role":"tool","content":"z","tool_call_id":"c9999"}"#))
    }

    @Test func imagesBecomeParts() throws {
        #expect(
            try messages([#"{"role":"user","content":"What?","images":["iVBORw0KGgoAAA","/9j/4AAQ"]}"#])
                == #"{"role":"user","content":[{"type":"text","text":"What?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgoAAA"}},{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,/9j/4AAQ"}}]}"#
        )
        #expect(
            try messages([
                #"{"role":"user","images":["UklGRiQ","R0lGODlh","https://a.example/b.png","data:image/x;base64,AA"]}"#
            ])
                == #"{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/webp;base64,UklGRiQ"}},{"type":"image_url","image_url":{"url":"data:image/gif;base64,R0lGODlh"}},{"type":"image_url","image_url":{"url":"https://a.example/b.png"}},{"type":"image_url","image_url":{"url":"data:image/x;base64,AA"}}]}"#
        )
        #expect(try messages([#"{"role":"user","content":"a","images":[]}"#]) == #"{"role":"user","content":"a"}"#)
    }

    @Test func callsAndResultsFindEachOther() throws {
        let call = #"{"function":{"name":"f","arguments":{"b":1,"a":"é"}}}"#
        #expect(
            try messages([
                #"{"role":"assistant","content":"","tool_calls":[\#(call),{"id":"x","function":{"index":1,"name":"g"}}]}"#,
                #"{"role":"tool","content":"1","tool_call_id":"x"}"#, #"{"role":"tool","content":"2","tool_name":"f"}"#,
                #"{"role":"assistant","content":"So?","tool_calls":[\#(call)]}"#, #"{"role":"tool","content":"3"}"#,
                #"{"role":"tool","content":"4","tool_name":"h"}"#,
            ])
                == [
                    #"{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"b\":1,\"a\":\"é\"}"}},{"id":"x","type":"function","function":{"name":"g","arguments":"{}"}}]}"#,
                    #"{"role":"tool","content":"1","tool_call_id":"x"}"#,
                    #"{"role":"tool","content":"2","tool_call_id":"call_1"}"#,
                    #"{"role":"assistant","content":"So?","tool_calls":[{"id":"call_2","type":"function","function":{"name":"f","arguments":"{\"b\":1,\"a\":\"é\"}"}}]}"#,
                    #"{"role":"tool","content":"3","tool_call_id":"call_2"}"#,
                    #"{"role":"tool","content":"4","tool_call_id":"call_3","name":"h"}"#,
                ].joined(separator: ","))
    }

    @Test func argumentsThatAreTextAreUnchanged() throws {
        #expect(
            try messages([
                #"{"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"a\":1}"}}]}"#
            ])
                == #"{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}"#
        )
    }

    @Test func thinkingIsSentUnderBothNames() throws {
        #expect(
            try messages([#"{"role":"assistant","content":"a","thinking":"h\"m"}"#])
                == #"{"role":"assistant","content":"a","reasoning":"h\"m","reasoning_content":"h\"m"}"#)
    }

    @Test(arguments: [
        (
            #""options":{"temperature":0.5,"top_p":0.9,"seed":7,"stop":["a"],"presence_penalty":1,"frequency_penalty":2}"#,
            #""temperature":0.5,"top_p":0.9,"seed":7,"stop":["a"],"presence_penalty":1,"frequency_penalty":2"#
        ),
        (#""options":{"num_predict":100}"#, #""max_tokens":100"#), (#""options":{"num_predict":-1}"#, ""),
        (#""options":{"top_k":40,"min_p":0.1,"num_ctx":8192}"#, #""top_k":40,"min_p":0.1,"num_ctx":8192"#),
        (#""options":{"repeat_penalty":1.1}"#, #""repeat_penalty":1.1,"repetition_penalty":1.1"#),
        (#""options":{"seed":1,"seed":2,"top_p":null}"#, #""seed":2"#), (#""options":{}"#, ""),
        (#""options":{"num_predict":5},"max_tokens":9"#, #""max_tokens":9"#),
        (#""format":"json""#, #""response_format":{"type":"json_object"}"#), (#""format":"""#, ""),
        (
            #""format":{"type":"object"}"#,
            #""response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object"}}}"#
        ),
        (#""think":true"#, #""chat_template_kwargs":{"enable_thinking":true}"#),
        (#""think":false"#, #""chat_template_kwargs":{"enable_thinking":false}"#),
        (#""think":"high""#, #""reasoning_effort":"high""#),
        (#""think":true,"chat_template_kwargs":{"a":1}"#, #""chat_template_kwargs":{"a":1}"#),
        (
            #""tools":[{"type":"function"}],"tool_choice":"auto""#,
            #""tools":[{"type":"function"}],"tool_choice":"auto""#
        ),
        (
            #""keep_alive":"5m","logprobs":true,"top_logprobs":2,"n":1"#,
            #""keep_alive":"5m","logprobs":true,"top_logprobs":2,"n":1"#
        ),
    ])
    func everyFieldIsTranslated(theirs: String, ours: String) throws {
        let counts = #""stream_options":{"include_usage":true}"#
        #expect(try members(theirs) == (ours.isEmpty ? counts : ours + "," + counts))
    }

    @Test func openAIItselfHasOtherNames() throws {
        let counts = #","stream_options":{"include_usage":true}"#
        #expect(try members(#""options":{"num_predict":5}"#, isOpenAI: true) == #""max_completion_tokens":5"# + counts)
        #expect(try members(#""think":true"#, isOpenAI: true) == #""reasoning_effort":"medium""# + counts)
        #expect(try members(#""think":false"#, isOpenAI: true) == #""reasoning_effort":"none""# + counts)
    }

    @Test func streamOptionsOfTheClientCount() throws {
        #expect(
            try members(#""stream_options":{"include_usage":false}"#) == #""stream_options":{"include_usage":false}"#)
    }

    @Test(arguments: [
        (#""n":2"#, "n"), (#""options":{"n":2}"#, "n"), (#""options":{"model":"x"}"#, "options.model"),
        (#""options":[]"#, "options"),
        (#""format":"xml""#, "format"), (#""think":1"#, "think"),
    ])
    func unsupportedMembersAreRejectedByName(members: String, name: String) {
        let error = #expect(throws: ModelError.self) { try body(members: members) }
        #expect(error?.code == .unsupported)
        #expect(error?.message == "The model server does not take \"\(name)\".")
    }

    @Test func answerIsContinued() throws {
        let prefill = try body { $0.beginning = Array("Once \"upon".utf8) }
        #expect(prefill.contains(#"{"role":"user","content":"Hi"},{"role":"assistant","content":"Once \"upon"}],"#))
        #expect(!prefill.contains("continue_final_message"))
        let asked = try body {
            $0.beginning = Array("Once".utf8)
            $0.continuation = .continueFinalMessage
        }
        #expect(asked.hasSuffix(#","continue_final_message":true,"add_generation_prompt":false}"#))
    }

    @Test func contextLengthIsSentToOllamaUnlessTheClientSetsIt() throws {
        var messages = EncodedConversation()
        messages.append(ModelMessage(role: "user", content: "Hi"))
        let opening = #"{"model":"tiny","messages":[{"role":"user","content":"Hi"}],"stream":true"#
        for (members, expected) in [
            ("", #","options":{"num_ctx":4096}}"#),
            (#""options":{"seed":1}"#, #","options":{"seed":1,"num_ctx":4096}}"#),
            (#""options":{"num_ctx":8}"#, #","options":{"num_ctx":8}}"#), (#""options":3"#, #","options":3}"#),
        ] {
            var request = GenerationRequest(
                model: "tiny", messages: messages, passThrough: try [RawMember](decodingMembers: Array(members.utf8)))
            request.contextLength = 4096
            #expect(try OllamaServer().body(of: request).string == opening + expected)
        }
    }

    /// Ollama refuses a text without a unit.
    @Test(arguments: [
        (#""-1""#, "-1"), (#""0""#, "0"), (#""300""#, "300"), (#""300.0""#, "300"), ("300", "300"),
        (#""5m""#, #""5m""#), (#""1.5""#, #""1.5""#), (#""""#, #""""#), (#""1e400""#, #""1e400""#),
        (#""true""#, #""true""#), (#""9223372036854775808""#, #""9223372036854775808""#), ("true", "true"),
        (#""0000000000000000000000000000300""#, #""0000000000000000000000000000300""#),
    ])
    func keepAliveOfAnOllamaIsANumberOrHasAUnit(_ value: String, _ expected: String) throws {
        let members = [RawMember(key: "keep_alive", value: Array(value.utf8))]
        let request = GenerationRequest(model: "tiny", messages: EncodedConversation(), passThrough: members)
        #expect(try OllamaServer().body(of: request).string.hasSuffix(#""keep_alive":\#(expected)}"#))
    }

    @Test func ollamaContinuesAnAnswer() throws {
        var messages = EncodedConversation()
        messages.append(ModelMessage(role: "user", content: "Hi"))
        var request = GenerationRequest(model: "tiny", messages: messages)
        request.beginning = Array("Once".utf8)
        #expect(
            try OllamaServer().body(of: request).string
                == #"{"model":"tiny","messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Once"}],"stream":true}"#
        )
    }
}
