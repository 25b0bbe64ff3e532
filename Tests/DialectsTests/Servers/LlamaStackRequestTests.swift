import ChatterdBasics
import ChatterdTestSupport
import Testing

@testable import ChatterdChat
@testable import ChatterdDialects

/// Requests to Llama Stack 0.2.
@Suite(.timeLimit(.minutes(30))) struct LlamaStackRequestTests {
    private func body(
        _ messages: [ModelMessage] = [ModelMessage(role: "user", content: "Hi")], _ members: String = "",
        change: (inout GenerationRequest) -> Void = { _ in }
    ) throws -> String {
        var encoded = EncodedConversation()
        for message in messages {
            encoded.append(message)
        }
        var request = GenerationRequest(
            model: "m", messages: encoded, passThrough: try [RawMember](decodingMembers: Array(members.utf8)))
        change(&request)
        let body = try LlamaStackServer().body(of: request)
        try JSONReader.validate(body.joined.bytes)
        return body.string
    }

    private func members(_ members: String) throws -> String {
        let prefix = #"{"model_id":"m","messages":[{"role":"user","content":"Hi"}],"stream":true"#
        let body = try body([ModelMessage(role: "user", content: "Hi")], members)
        try #require(body.hasPrefix(prefix))
        return String(body.dropFirst(prefix.count).dropLast())
    }

    @Test func conversationIsTranslated() throws {
        let calls =
            #""tool_calls":[{"function":{"name":"f","arguments":{"z":1,"a":"\"é"}}},"#
            + #"{"id":"x","function":{"name":"g","arguments":"{\"b\": 2}"}}],"thinking":"hm""#
        let body = try body([
            ModelMessage(role: "system", content: "Be \"kind\"."),
            ModelMessage(role: "user", content: "Look", extras: #""images":["aGk=","eW8="]"#),
            ModelMessage(role: "assistant", content: "", extras: calls),
            ModelMessage(role: "tool", content: "g says 2", extras: #""tool_call_id":"x","tool_name":"g""#),
            ModelMessage(role: "tool", content: "f says 1", extras: #""tool_name":"f""#),
            ModelMessage(role: "assistant", content: "Both."),
            ModelMessage(role: "tool", content: "nobody asked"),
            ModelMessage(role: "user", content: ""),
        ])
        #expect(
            body == #"{"model_id":"m","messages":["#
                + #"{"role":"system","content":"Be \"kind\"."},"#
                + #"{"role":"user","content":[{"type":"image","image":{"data":"aGk="}},"#
                + #"{"type":"image","image":{"data":"eW8="}},{"type":"text","text":"Look"}]},"#
                + #"{"role":"assistant","stop_reason":"end_of_message","tool_calls":["#
                + #"{"call_id":"call_1","tool_name":"f","arguments":{"z":1,"a":"\"é"},"#
                + #""arguments_json":"{\"z\":1,\"a\":\"\\\"é\"}"},"#
                + #"{"call_id":"x","tool_name":"g","arguments":{"b": 2},"arguments_json":"{\"b\": 2}"}],"content":""},"#
                + #"{"role":"tool","call_id":"x","content":"g says 2"},"#
                + #"{"role":"tool","call_id":"call_1","content":"f says 1"},"#
                + #"{"role":"assistant","stop_reason":"end_of_turn","content":"Both."},"#
                + #"{"role":"tool","call_id":"call_2","content":"nobody asked"},"#
                + #"{"role":"user","content":""}],"stream":true}"#)
    }

    @Test(arguments: [
        (#""options":{}"#, ""), (#""options":{"num_predict":-1,"seed":null}"#, ""),
        (#""options":{"num_predict":20}"#, #","sampling_params":{"max_tokens":20}"#),
        (#""options":{"temperature":0}"#, #","sampling_params":{"strategy":{"type":"greedy"}}"#),
        (
            #""options":{"temperature":0.0,"top_p":0.5,"top_k":4}"#,
            #","sampling_params":{"strategy":{"type":"greedy"}}"#
        ),
        (
            #""options":{"temperature":0.7}"#,
            #","sampling_params":{"strategy":{"type":"top_p","temperature":0.7}}"#
        ),
        (
            #""options":{"top_p":0.5}"#,
            #","sampling_params":{"strategy":{"type":"top_p","temperature":null,"top_p":0.5}}"#
        ),
        (#""options":{"top_k":40}"#, #","sampling_params":{"strategy":{"type":"top_k","top_k":40}}"#),
        (
            #""options":{"repeat_penalty":1.1,"stop":["a","b"]}"#,
            #","sampling_params":{"repetition_penalty":1.1,"stop":["a","b"]}"#
        ),
        (#""options":{"stop":"a"}"#, #","sampling_params":{"stop":["a"]}"#),
        (#""format":"""#, ""), (#""logprobs":false"#, ""),
        (
            #""format":{"type":"object","properties":{}}"#,
            #","response_format":{"type":"json_schema","json_schema":{"type":"object","properties":{}}}"#
        ),
        (#""format":"json""#, #","response_format":{"type":"json_schema","json_schema":{"type":"object"}}"#),
        (#""tool_choice":"required""#, #","tool_choice":"required""#),
        (#""tools":[]"#, #","tools":[]"#),
    ])
    func membersAreTranslated(given: String, sent: String) throws {
        #expect(try members(given) == sent)
    }

    @Test func toolsAreTranslatedWithoutLoss() throws {
        let tools =
            #""tools":[{"type":"function","function":{"name":"get_weather","description":"The \"weather\".","#
            + #""strict":true,"parameters":{"type":"object","additionalProperties":false,"required":["city"],"#
            + #""properties":{"city":{"type":"string","description":"Where"},"#
            + #""unit":{"type":"string","enum":["celsius","kelvin"],"default":"celsius"},"#
            + #""days":{"type":["integer","null"]}}}}},{"type":"function","function":{"name":"now"}}]"#
        #expect(
            try members(tools) == #","tools":[{"tool_name":"get_weather","#
                + #""description":"The \"weather\". {\"strict\":true,\"additionalProperties\":false}","parameters":{"#
                + #""city":{"param_type":"string","description":"Where","required":true},"#
                + #""unit":{"param_type":"string","description":"{\"enum\":[\"celsius\",\"kelvin\"]}","required":false,"#
                + #""default":"celsius"},"#
                + #""days":{"param_type":"string","description":"{\"type\":[\"integer\",\"null\"]}","required":false}}},"#
                + #"{"tool_name":"now","parameters":{}}]"#)
    }

    @Test(arguments: [
        (#""options":{"min_p":0.1}"#, "min_p"), (#""options":{"seed":1}"#, "seed"),
        (#""options":{"num_ctx":1}"#, "num_ctx"),
        (#""options":{"top_k":1,"temperature":0.5}"#, "top_k"), (#""options":{"top_k":1,"top_p":0.5}"#, "top_k"),
        (#""options":3"#, "options"), (#""keep_alive":"5m""#, "keep_alive"), (#""think":true"#, "think"),
        (#""think":false"#, "think"), (#""logprobs":true"#, "logprobs"), (#""top_logprobs":2"#, "top_logprobs"),
        (#""format":"yaml""#, "format"), (#""format":3"#, "format"), (#""tools":{}"#, "tools"),
        (#""tools":[{"type":"web_search"}]"#, "tools"), (#""shift":false"#, "shift"),
        (#""anything":1"#, "anything"),
    ])
    func membersWithoutCounterpartAreRejectedByName(said: String, name: String) throws {
        let error = #expect(throws: ModelError.self) { try members(said) }
        #expect(error?.code == .unsupported)
        #expect(error?.message.contains("\"\(name)\"") == true)
    }

    @Test func unknownRoleIsRejectedByName() {
        let error = #expect(throws: ModelError.self) { try body([ModelMessage(role: "critic", content: "No.")]) }
        #expect(error?.code == .unsupported)
        #expect(error?.message.contains("critic") == true)
    }

    @Test func answerIsContinued() throws {
        let gone = try body { $0.beginning = Array("Once \"upon\"".utf8) }
        #expect(
            gone == #"{"model_id":"m","messages":[{"role":"user","content":"Hi"},"#
                + #"{"role":"assistant","content":"Once \"upon\"","stop_reason":"out_of_tokens"}],"stream":true}"#)
        let error = #expect(throws: ModelError.self) {
            try body {
                $0.beginning = Array("Once".utf8)
                $0.continuation = .continueFinalMessage
            }
        }
        #expect(error?.code == .unsupported)
    }

    @Test func contextLengthIsTheServersOwn() throws {
        #expect(try body { $0.contextLength = 4096 }.hasSuffix("\"stream\":true}"))
    }
}
