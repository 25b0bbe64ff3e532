import ChatterModels
import ChatterdTestSupport

/// A kind of model server, with the bytes that it sends: the tests of executors run for each kind.
enum WirePeer: String, CaseIterable, Sendable {
    case ollama, openAI, openResponses, llamaStack

    func llm(url: String, key: String? = nil) throws -> any LLM {
        switch self {
        case .ollama: try OllamaLLM(model: "m", url: url, key: key)
        case .openAI: try OpenAILLM(model: "m", url: url, key: key)
        case .openResponses: try OpenResponsesLLM(model: "m", url: url, key: key)
        case .llamaStack: try LlamaStackLLM(model: "m", url: url, key: key)
        }
    }

    /// An answer of these texts, with thinking before them if the kind has it.
    func answer(_ texts: [String], thinking: String? = nil, reason: String = "stop") -> [String] {
        let texts = texts.map(jsonString)
        let thinking = thinking.map(jsonString)
        switch self {
        case .ollama:
            return (thinking.map { [#"{"message":{"content":"","thinking":\#($0)},"done":false}\#n"#] } ?? [])
                + texts.map { #"{"model":"m1","message":{"role":"assistant","content":\#($0)},"done":false}\#n"# }
                + [
                    #"{"model":"m1","message":{"content":""},"done":true,"done_reason":"\#(reason)","prompt_eval_count":5,"eval_count":7}\#n"#
                ]
        case .openAI:
            return (thinking.map { [event(#"{"choices":[{"index":0,"delta":{"reasoning_content":\#($0)}}]}"#)] } ?? [])
                + [
                    event(
                        #"{"choices":[{"delta":{"role":"assistant","content":null},"finish_reason":null}],"usage":null}"#
                    )
                ]
                + texts.map {
                    event(#"{"model":"m1","choices":[{"index":0,"delta":{"content":\#($0)},"finish_reason":null}]}"#)
                }
                + [
                    event(#"{"choices":[{"delta":{},"finish_reason":"\#(reason)"}]}"#),
                    event(#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7}}"#), event("[DONE]"),
                ]
        case .openResponses:
            let type = reason == "length" ? "incomplete" : "completed"
            let details = reason == "length" ? #","incomplete_details":{"reason":"max_output_tokens"}"# : ""
            return [event(#"{"type":"response.created","response":{}}"#, "response.created")]
                + (thinking.map { [event(#"{"type":"response.reasoning_text.delta","delta":\#($0)}"#)] } ?? [])
                + texts.map {
                    event(#"{"type":"response.output_text.delta","delta":\#($0)}"#, "response.output_text.delta")
                }
                + [
                    event(
                        #"{"type":"response.\#(type)","response":{"status":"\#(type)","model":"m1","usage":{"input_tokens":5,"output_tokens":7}\#(details)}}"#
                    )
                ]
        case .llamaStack:
            return [event(#"{"event":{"event_type":"start","delta":{"type":"text","text":""}}}"#)]
                + texts.map { event(#"{"event":{"event_type":"progress","delta":{"type":"text","text":\#($0)}}}"#) }
                + [
                    event(
                        #"{"event":{"event_type":"complete","delta":{"type":"text","text":""},"stop_reason":"\#(reason == "length" ? "out_of_tokens" : "end_of_turn")"},"metrics":[{"metric":"prompt_tokens","value":5},{"metric":"completion_tokens","value":7}]}"#
                    )
                ]
        }
    }

    /// A message that calls `WeatherTool` for Rome, in pieces if the kind has them.
    var call: [String] {
        switch self {
        case .ollama:
            [
                #"{"message":{"content":"","tool_calls":[{"id":"c1","function":{"name":"WeatherTool","arguments":{"location":"Rome"}}}]},"done":false}\#n"#,
                #"{"model":"m1","message":{"content":""},"done":true,"done_reason":"stop"}\#n"#,
            ]
        case .openAI:
            [
                event(
                    #"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"WeatherTool","arguments":""}}]}}]}"#
                ),
                event(
                    #"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"location\":"}}]}}]}"#),
                event(#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"Rome\"}"}}]}}]}"#),
                event(#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#), event("[DONE]"),
            ]
        case .openResponses:
            [
                event(#"{"type":"response.function_call_arguments.delta","delta":"{\"location\""}"#),
                event(
                    #"{"type":"response.output_item.done","item":{"type":"function_call","call_id":"c1","name":"WeatherTool","arguments":"{\"location\":\"Rome\"}"}}"#
                ),
                event(#"{"type":"response.completed","response":{"status":"completed","model":"m1"}}"#),
            ]
        case .llamaStack:
            [
                event(
                    #"{"event":{"event_type":"progress","delta":{"type":"tool_call","parse_status":"in_progress","tool_call":"{\"loc"}}}"#
                ),
                event(
                    #"{"event":{"event_type":"progress","delta":{"type":"tool_call","parse_status":"succeeded","tool_call":{"call_id":"c1","tool_name":"WeatherTool","arguments":{"location":"Rome"}}}}}"#
                ),
                event(
                    #"{"event":{"event_type":"complete","delta":{"type":"text","text":""},"stop_reason":"end_of_message"}}"#
                ),
            ]
        }
    }

    /// The report of a failure in a stream.
    var failure: String {
        switch self {
        case .ollama: #"{"error":"out of memory"}"#
        case .openAI: event(#"{"error":{"message":"out of memory","code":500}}"#)
        case .openResponses:
            event(#"{"type":"response.failed","response":{"error":{"code":"server_error","message":"out of memory"}}}"#)
        case .llamaStack: event(#"{"error":{"message":"out of memory"}}"#)
        }
    }

    /// The steps of a server that sends these pieces.
    func steps(_ pieces: [String], end: [UpstreamStep] = [.endChunks]) -> [UpstreamStep] {
        let type = self == .ollama ? "application/x-ndjson" : "text/event-stream"
        return [.head(200, [("Content-Type", type), ("Transfer-Encoding", "chunked")])]
            + pieces.map { .chunk($0) } + end
    }

    private func event(_ data: String, _ name: String? = nil) -> String {
        (name.map { "event: \($0)\n" } ?? "") + "data: \(data)\n\n"
    }
}
