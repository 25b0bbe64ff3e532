import ChatterdChat
import ChatterdRelay
import Testing

@testable import ChatterdDialects

/// Requests and answers of Anthropic's door.
struct AnthropicTests {
    private func read(_ members: String, messages: String = #"[{"role":"user","content":"Hi"}]"#) throws -> [String] {
        try summary(#"{"model":"m","max_tokens":9,"messages":\#(messages)\#(members)}"#, by: AnthropicMessages())
    }

    @Test func samplingMembersBecomeOptions() throws {
        #expect(
            try read(#","temperature":1,"top_k":3,"top_p":0.5,"stop_sequences":["x"],"metadata":{"user_id":"ada"}"#)
                == [
                    "user: Hi", #"user="ada""#,
                    #"options={"temperature":1,"top_k":3,"top_p":0.5,"stop":["x"],"num_predict":9}"#,
                ])
    }

    @Test func systemIsAMessage() throws {
        #expect(try read(#","system":"s""#)[0] == "system: s")
        #expect(
            try read(
                #","system":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"text","text":"b"}]"#
            )[0] == "system: a\nb")
    }

    @Test func toolsAreFunctions() throws {
        let tools =
            #","tools":[{"name":"f","description":"d","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}]"#
        let function =
            #"tools=[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}}]"#
        #expect(try read(tools)[1] == function)
        #expect(try read(tools + #","tool_choice":{"type":"any"}"#)[2] == #"tool_choice="required""#)
        #expect(
            try read(tools + #","tool_choice":{"type":"tool","name":"f","disable_parallel_tool_use":true}"#)[2...3]
                == [#"tool_choice={"type":"function","function":{"name":"f"}}"#, "parallel_tool_calls=false"])
        #expect(try read(tools + #","tool_choice":{"type":"none"}"#).count == 2)
        #expect(try read(#","tools":[{"type":"web_search_20250305","name":"web_search"}]"#).count == 2)
        for choice in [#"{"type":"any"}"#, #"{"type":"tool","name":"web_search"}"#] {
            #expect(throws: RelayError.self) {
                try read(#","tools":[{"type":"web_search_20250305","name":"web_search"}],"tool_choice":\#(choice)"#)
            }
        }
        #expect(throws: RelayError.self) { try read(tools + #","tool_choice":{"type":"tool","name":"g"}"#) }
    }

    @Test func thinkingAndFormatAreTranslated() throws {
        #expect(try read(#","thinking":{"type":"enabled","budget_tokens":1024}"#)[1] == "think=true")
        #expect(try read(#","thinking":{"type":"disabled"}"#)[1] == "think=false")
        #expect(
            try read(#","output_config":{"effort":"low","format":{"type":"json_schema","schema":{"a":1}}}"#)[1...2]
                == [#"format={"a":1}"#, #"think="low""#])
        // An Ollama refuses the words that it does not know.
        #expect(try read(#","output_config":{"effort":"xhigh"}"#)[1] == #"think="max""#)
    }

    @Test func blocksAreTranslated() throws {
        let assistant =
            #"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":""},{"type":"text","text":"Let me see."},{"type":"tool_use","id":"t1","name":"f","input":{"a":1}}]}"#
        let results =
            #"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"9"}],"is_error":false},{"type":"text","text":"And?"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}"#
        #expect(
            try read("", messages: #"[{"role":"user","content":"Hi"},\#(assistant),\#(results)]"#).dropLast() == [
                "user: Hi",
                #"assistant: Let me see. {"thinking":"hm","tool_calls":[{"id":"t1","function":{"name":"f","arguments":{"a":1}}}]}"#,
                #"tool: 9 {"tool_name":"f","tool_call_id":"t1"}"#, #"user: And? {"images":["AAAA"]}"#,
            ])
    }

    @Test(arguments: [
        (#"{"messages":[{"role":"user","content":"Hi"}]}"#, "max_tokens"),
        (#"{"max_tokens":0,"messages":[{"role":"user","content":"Hi"}]}"#, "max_tokens"),
        (#"{"max_tokens":1}"#, "messages"), (#"{"max_tokens":1,"messages":[]}"#, "messages"),
        (#"{"max_tokens":1,"messages":[{"role":"tool","content":"s"}]}"#, "messages[0].role"),
        (#"{"max_tokens":1,"messages":[{"role":"user"}]}"#, "messages[0].content"),
        (
            #"{"max_tokens":1,"output_config":{"effort":"some"},"messages":[{"role":"user","content":"x"}]}"#,
            "output_config.effort"
        ),
        // Its text is a part of the history.
        (
            #"{"max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"mcp_tool_result"}]}]}"#,
            "messages[0].content[0].type"
        ),
        (#"{"max_tokens":1,"messages":[{"role":"user","content":"x"}],"inference_geo":"us"}"#, "inference_geo"),
        (
            #"{"max_tokens":1,"messages":[{"role":"user","content":[{"type":"document"}]}]}"#,
            "messages[0].content[0].source"
        ),
        (
            #"{"max_tokens":1,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"base64"}}]}]}"#,
            "messages[0].content[0].source.type"
        ),
        (
            #"{"max_tokens":1,"messages":[{"role":"user","content":[{"type":"container_upload"}]}]}"#,
            "messages[0].content[0].type"
        ),
    ])
    func faultNamesItsMember(_ body: String, _ parameter: String) {
        let fault = #expect(throws: RelayError.self) { try AnthropicMessages().request(Array(body.utf8)) }
        #expect(fault?.parameter == parameter && fault?.code == .invalidRequest)
    }

    @Test(arguments: ["4096", "4096.0", "4.096e3"])
    func limitIsAWholeNumberInAnySpelling(_ limit: String) throws {
        let body = #"{"max_tokens":\#(limit),"messages":[{"role":"user","content":"Hi"}]}"#
        #expect(try summary(body, by: AnthropicMessages()).last == #"options={"num_predict":4096}"#)
    }

    @Test(arguments: ["0", "0.0", "-1", "4096.5", "1e400", "-1e400", "9223372036854775808", "\"9\"", "true"])
    func limitThatIsNoWholeNumberIsRefused(_ limit: String) {
        let body = #"{"max_tokens":\#(limit),"messages":[{"role":"user","content":"Hi"}]}"#
        let fault = #expect(throws: RelayError.self) { try AnthropicMessages().request(Array(body.utf8)) }
        #expect(fault?.parameter == "max_tokens")
    }

    @Test func countNeedsNoLimit() throws {
        let body = #"{"model":"m","messages":[{"role":"user","content":"Hi"}]}"#
        #expect(try AnthropicMessages(isCount: true).request(Array(body.utf8)).chat.messages.count == 1)
    }

    private func event(_ name: String, _ members: String) -> String {
        "event: \(name)\ndata: {\"type\":\"\(name)\"\(members)}\n\n"
    }

    @Test func blocksOfAnAnswerAreStreamedInTurn() {
        let call = #"[{"function":{"name":"f","arguments":{"a":"x"}}}]"#
        let lines = [
            token(#""content":"","thinking":"hm""#), token(#""content":"a\n""#), token(#""content":"b""#),
            token(#""content":"","tool_calls":\#(call)"#), last(),
        ]
        func delta(_ index: Int, _ members: String) -> String {
            event("content_block_delta", #","index":\#(index),"delta":{\#(members)}"#)
        }
        func start(_ index: Int, _ block: String) -> String {
            event("content_block_start", #","index":\#(index),"content_block":{\#(block)}"#)
        }
        func stop(_ index: Int) -> String { event("content_block_stop", #","index":\#(index)"#) }
        let message =
            #"{"id":"msg_\#(replyID)","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}}"#
        let expected = [
            event("message_start", #","message":\#(message)"#),
            start(0, #""type":"thinking","thinking":"","signature":"""#),
            delta(0, #""type":"thinking_delta","thinking":"hm""#), stop(0),
            start(1, #""type":"text","text":"""#), delta(1, #""type":"text_delta","text":"a\n""#),
            delta(1, #""type":"text_delta","text":"b""#), stop(1),
            start(2, #""type":"tool_use","id":"call_\#(replyID)_0","name":"f","input":{}"#),
            delta(2, #""type":"input_json_delta","partial_json":"{\"a\":\"x\"}""#), stop(2),
            event(
                "message_delta",
                #","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":5,"output_tokens":7}"#
            ),
            event("message_stop", ""),
        ]
        #expect(stream(lines, by: AnthropicMessages(), estimate: 3) == expected.joined())
    }

    @Test func wholeAnswerIsAMessage() {
        let calls = #"{"id":"t1","function":{"name":"f","arguments":{"a":1}}}"#
        #expect(
            encodeWhole("a", thinking: "hm", calls: calls, last: last(reason: "length"), by: AnthropicMessages())
                == #"{"id":"msg_\#(replyID)","type":"message","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"hm","signature":""},{"type":"text","text":"a"},{"type":"tool_use","id":"t1","name":"f","input":{"a":1}}],"stop_reason":"max_tokens","stop_sequence":null,"usage":{"input_tokens":5,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":7}}"#
        )
    }

    @Test func estimateStandsForACountThatTheModelServerHasNot() {
        let line = last().replacing(#","prompt_eval_count":5"#, with: "")
        #expect(encodeWhole("a", last: line, by: AnthropicMessages(), estimate: 3).contains(#""input_tokens":3,"#))
        #expect(
            stream([token(#""content":"a""#), line], by: AnthropicMessages(), estimate: 3)
                .contains(#""usage":{"input_tokens":3,"output_tokens":7}"#))
    }

    private func estimate(_ members: String, isCount: Bool = false) throws -> Int {
        let body = #"{"model":"m","max_tokens":9,\#(members)}"#
        return try AnthropicMessages(isCount: isCount).request(Array(body.utf8)).estimatedTokens
    }

    @Test func tokensAreEstimatedFromTextsToolsAndImages() throws {
        func messages(_ content: String) -> String { #""messages":[{"role":"user","content":\#(content)}]"# }
        let text = String(repeating: "word ", count: 700)
        #expect(try estimate(messages(#""""#)) == 1)
        #expect(try estimate(messages(#""\#(text)""#)) == 1_001)
        #expect(try estimate(messages(#""""#) + #","system":"\#(text)""#) == 1_001)
        #expect(try estimate(messages(#""\#(text)""#), isCount: true) == 1_001)
        let tool = #","tools":[{"name":"f","description":"\#(text)","input_schema":{}}]"#
        #expect(try (1_001...1_050).contains(estimate(messages(#""""#) + tool)))
        // The bytes of an image say nothing about its tokens.
        for size in [4, 400_000] {
            let data = String(repeating: "A", count: size)
            let image = #"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"\#(data)"}}"#
            #expect(try (1_025...1_050).contains(estimate(messages("[\(image)]"))))
            #expect(try (2_049...2_074).contains(estimate(messages("[\(image),\(image)]"))))
        }
    }

    @Test(arguments: [
        (#""stop_reason":"END""#, "stop", #""stop_reason":"stop_sequence","stop_sequence":"END""#),
        (#""stop_reason":"\"\n""#, "stop", #""stop_reason":"stop_sequence","stop_sequence":"\"\n""#),
        (#""stop_reason":"""#, "stop", #""stop_reason":"end_turn","stop_sequence":null"#),
        (#""stop_reason":128009"#, "stop", #""stop_reason":"end_turn","stop_sequence":null"#),
        (#""stop_reason":"END""#, "length", #""stop_reason":"max_tokens","stop_sequence":null"#),
    ])
    func sequenceAtWhichTheModelStoppedIsNamed(_ member: String, _ reason: String, _ expected: String) {
        let line = String(last(reason: reason).dropLast()) + ",\(member)}"
        #expect(encodeWhole("a", last: line, by: AnthropicMessages()).contains(expected))
        #expect(stream([token(#""content":"a""#), line], by: AnthropicMessages()).contains(expected))
    }

    @Test func faultAndKeepAliveAreEvents() {
        var encoder = AnthropicMessages().makeEncoder(context())
        #expect(
            text { encoder.fail(RelayError(.overloaded, "Full."), at: 0, to: &$0) }
                == #"event: error"# + "\n"
                + #"data: {"type":"error","error":{"type":"overloaded_error","message":"Full."}}"# + "\n\n")
        #expect(text { encoder.keepAlive(to: &$0) } == "event: ping\ndata: {\"type\":\"ping\"}\n\n")
    }

    @Test func modelsAreAList() {
        #expect(
            text { AnthropicModels().append([DoorModel(name: "m")], to: &$0) }
                == #"{"data":[{"type":"model","id":"m","display_name":"m","created_at":"1970-01-01T00:00:00Z"}],"has_more":false,"first_id":"m","last_id":"m"}"#
        )
        #expect(
            text { AnthropicModels().append([], to: &$0) }
                == #"{"data":[],"has_more":false,"first_id":null,"last_id":null}"#)
    }
}
