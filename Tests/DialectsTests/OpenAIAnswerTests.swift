import ChatterdBasics
import ChatterdChat
import ChatterdRelay
import Testing

@testable import ChatterdDialects

/// Answers of `/v1/chat/completions`, as transcripts.
struct OpenAIAnswerTests {
    private func chunk(_ choices: String, _ usage: String = "") -> String {
        #"data: {"id":"chatcmpl-\#(replyID)","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[\#(choices)]\#(usage)}"#
            + "\n\n"
    }

    private func delta(_ members: String) -> String {
        chunk(#"{"index":0,"delta":{\#(members)},"finish_reason":null}"#)
    }

    private func finish(_ reason: String) -> String { chunk(#"{"index":0,"delta":{},"finish_reason":"\#(reason)"}"#) }

    @Test func textIsStreamedAsItIsEscaped() {
        let lines = [
            token(#""content":"a\"\u0001\n""#), token(#""content":"","thinking":"hm""#), last(#""content":"z""#),
        ]
        #expect(
            stream(lines, by: OpenAIChat())
                == delta(#""role":"assistant","content":"""#) + delta(#""content":"a\"\u0001\n""#)
                + delta(#""reasoning_content":"hm""#) + delta(#""content":"z""#) + finish("stop") + "data: [DONE]\n\n")
    }

    @Test func usageIsSentOnRequest() {
        #expect(
            stream([last()], by: OpenAIChat(), usage: true)
                == delta(#""role":"assistant","content":"""#) + finish("stop")
                + chunk("", #","usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12}"#)
                + "data: [DONE]\n\n")
    }

    @Test func limitOfTokensIsAReason() {
        #expect(stream([last(reason: "length")], by: OpenAIChat()).contains(finish("length")))
    }

    @Test func callsAreNumberedThroughTheAnswer() {
        let first = #"[{"id":"c1","function":{"index":0,"name":"f","arguments":{"a":"\""}}}]"#
        let second = #"[{"function":{"name":"g"}},{"function":{"name":"h","arguments":"raw"}}]"#
        let lines = [token(#""content":"","tool_calls":\#(first)"#), last(#""content":"","tool_calls":\#(second)"#)]
        func call(_ index: Int, _ id: String, _ name: String, _ arguments: String) -> String {
            delta(
                #""tool_calls":[{"index":\#(index),"id":"\#(id)","type":"function","function":{"name":"\#(name)","arguments":\#(arguments)}}]"#
            )
        }
        #expect(
            stream(lines, by: OpenAIChat())
                == delta(#""role":"assistant","content":"""#) + call(0, "c1", "f", #""{\"a\":\"\\\"\"}""#)
                + call(1, "call_\(replyID)_1", "g", #""{}""#) + call(2, "call_\(replyID)_2", "h", #""raw""#)
                + finish("tool_calls") + "data: [DONE]\n\n")
    }

    @Test func faultInAStreamIsAnObject() {
        var encoder = OpenAIChat().makeEncoder(context())
        let error = RelayError(.model(.failed), "Lost.")
        #expect(
            text { encoder.fail(error, at: 0, to: &$0) }
                == #"data: {"error":{"message":"Lost.","type":"server_error","param":null,"code":"upstream_error"}}"#
                + "\n\n")
    }

    @Test func keepAliveIsAComment() {
        let encoder = OpenAIChat().makeEncoder(context())
        #expect(text { encoder.keepAlive(to: &$0) } == ": keep-alive\n\n")
    }

    @Test func wholeAnswerIsOneObject() {
        #expect(
            encodeWhole("a\"b", thinking: "hm", last: last(), by: OpenAIChat())
                == #"{"id":"chatcmpl-\#(replyID)","object":"chat.completion","created":1700000000,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"a\"b","refusal":null,"reasoning_content":"hm"},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12}}"#
        )
    }

    @Test func wholeAnswerWithCallsHasNoText() {
        let body = encodeWhole(
            "", calls: #"{"function":{"name":"f","arguments":{"a":1}}}"#, last: last(), by: OpenAIChat())
        #expect(
            body.contains(
                #""content":null,"refusal":null,"tool_calls":[{"id":"call_\#(replyID)_0","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]"#
            ))
        #expect(body.contains(#""finish_reason":"tool_calls""#))
    }

    @Test func modelsAreAList() {
        #expect(
            text { OpenAIModels().append([DoorModel(name: "m", context: 4096)], to: &$0) }
                == #"{"object":"list","data":[{"id":"m","object":"model","created":0,"owned_by":"chatterd","context_length":4096,"max_model_len":4096}]}"#
        )
    }
}
