/// Ollama 0.32.15, `/v1/chat/completions`. Elided envelopes are made whole.
let ollamaOpenAISamples = SampleServer(
    "Ollama /v1", kind: "openai",
    [
        Sample(
            stream: "text",
            #"{"id":"chatcmpl-27","object":"chat.completion.chunk","created":1763635166,"model":"tiny","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello! "},"finish_reason":null}]}"#,
            #"{"id":"chatcmpl-27","object":"chat.completion.chunk","created":1763635166,"model":"tiny","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
            #"{"id":"chatcmpl-27","object":"chat.completion.chunk","created":1763635166,"model":"tiny","system_fingerprint":"fp_ollama","choices":[],"usage":{"prompt_tokens":18,"completion_tokens":13,"total_tokens":31}}"#,
            "[DONE]",
            events: [.text("7", "Hello! "), .done("7-end", counts: #","prompt_eval_count":18,"eval_count":13"#)],
            text: "Hello! "),
        Sample(
            stream: "thinking",
            #"{"id":"chatcmpl-28","object":"chat.completion.chunk","created":1763635166,"model":"tiny","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":"wants "},"finish_reason":null}]}"#,
            #"{"id":"chatcmpl-28","object":"chat.completion.chunk","created":1763635166,"model":"tiny","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"content":"Hello! "},"finish_reason":null}]}"#,
            #"{"id":"chatcmpl-28","object":"chat.completion.chunk","created":1763635166,"model":"tiny","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
            "[DONE]",
            events: [.thinking("0.6", "wants "), .text("7.6", "Hello! "), .done("7.6-end")],
            text: "Hello! ", thinking: "wants "),
        Sample(
            stream: "a tool call, whole",
            #"{"id":"chatcmpl-29","object":"chat.completion.chunk","created":1763635166,"model":"tiny","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"role":"assistant","content":"","tool_calls":[{"id":"call_5x2k9qm1","index":0,"type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Oslo\",\"unit\":\"celsius\"}"}}]},"finish_reason":null}]}"#,
            #"{"id":"chatcmpl-29","object":"chat.completion.chunk","created":1763635166,"model":"tiny","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
            "[DONE]",
            events: [
                .calls(
                    "0.0.111",
                    #"[{"id":"call_5x2k9qm1","function":{"index":0,"name":"get_weather","arguments":{"city":"Oslo","unit":"celsius"}}}]"#
                ),
                .done("0.0.111-end"),
            ],
            extras:
                #""tool_calls":[{"id":"call_5x2k9qm1","function":{"index":0,"name":"get_weather","arguments":{"city":"Oslo","unit":"celsius"}}}]"#
        ),
        Sample(
            stream: "a failure in silence",
            #"{"id":"chatcmpl-696","object":"chat.completion.chunk","created":1763635166,"model":"slow","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"content":"2, "},"finish_reason":null}]}"#,
            #"{"id":"chatcmpl-696","object":"chat.completion.chunk","created":1763635166,"model":"","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"content":""},"finish_reason":null}]}"#,
            events: [.text("3", "2, ")], end: .incomplete, text: "2, "),
        Sample(
            status: 404,
            #"{"error":{"message":"model 'x' not found","type":"not_found_error","param":null,"code":null}}"#,
            .error("model_not_found", "model 'x' not found", retryable: false)),
    ])

/// Ollama 0.11.11, `/v1/chat/completions`, where it differs.
let oldOllamaOpenAISamples = SampleServer(
    "Ollama 0.11 /v1", kind: "openai",
    [
        Sample(
            stream: "the role in every delta",
            #"{"id":"chatcmpl-27","object":"chat.completion.chunk","created":1763635166,"model":"tiny","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello! "},"finish_reason":null}]}"#,
            #"{"id":"chatcmpl-27","object":"chat.completion.chunk","created":1763635166,"model":"tiny","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"role":"assistant","content":"How"},"finish_reason":null}]}"#,
            #"{"id":"chatcmpl-27","object":"chat.completion.chunk","created":1763635166,"model":"tiny","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"stop"}]}"#,
            "[DONE]",
            events: [.text("7", "Hello! "), .text("10", "How"), .done("10-end")], text: "Hello! How")
    ])
