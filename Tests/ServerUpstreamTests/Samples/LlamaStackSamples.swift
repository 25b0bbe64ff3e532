/// Llama Stack 0.7.3, `/v1/chat/completions`. Elided fields are made whole.
let llamaStackSamples = SampleServer(
    "Llama Stack 0.7", kind: "openai",
    [
        Sample(
            stream: "text, and no mark of the end",
            #"{"id":"chatcmpl-5","choices":[{"delta":{"audio":null,"content":"Hello! ","function_call":null,"refusal":null,"role":"assistant","tool_calls":null},"index":0,"finish_reason":null,"logprobs":null}],"created":1763635166,"model":"ollama/tiny:latest","object":"chat.completion.chunk","moderation":null,"obfuscation":null,"service_tier":null,"system_fingerprint":"fp_ollama","usage":null}"#,
            #"{"id":"chatcmpl-5","choices":[{"delta":{"audio":null,"content":null,"function_call":null,"refusal":null,"role":null,"tool_calls":null},"index":0,"finish_reason":"stop","logprobs":null}],"created":1763635166,"model":"ollama/tiny:latest","object":"chat.completion.chunk","moderation":null,"obfuscation":null,"service_tier":null,"system_fingerprint":"fp_ollama","usage":null}"#,
            #"{"id":"chatcmpl-5","choices":[],"created":1763635166,"model":"ollama/tiny:latest","object":"chat.completion.chunk","moderation":null,"obfuscation":null,"service_tier":null,"system_fingerprint":"fp_ollama","usage":{"completion_tokens":13,"prompt_tokens":18,"total_tokens":31,"completion_tokens_details":null,"prompt_tokens_details":null}}"#,
            events: [.text("7", "Hello! "), .done("7-end", counts: #","prompt_eval_count":18,"eval_count":13"#)],
            text: "Hello! "),
        Sample(
            stream: "reasoning of Ollama",
            #"{"id":"chatcmpl-6","choices":[{"delta":{"audio":null,"content":"","function_call":null,"refusal":null,"role":"assistant","tool_calls":null,"reasoning":"wants "},"index":0,"finish_reason":null,"logprobs":null}],"created":1763635166,"model":"ollama/tiny:latest","object":"chat.completion.chunk","moderation":null,"obfuscation":null,"service_tier":null,"system_fingerprint":"fp_ollama","usage":null}"#,
            #"{"id":"chatcmpl-6","choices":[{"delta":{"audio":null,"content":null,"function_call":null,"refusal":null,"role":null,"tool_calls":null},"index":0,"finish_reason":"stop","logprobs":null}],"created":1763635166,"model":"ollama/tiny:latest","object":"chat.completion.chunk","moderation":null,"obfuscation":null,"service_tier":null,"system_fingerprint":"fp_ollama","usage":null}"#,
            events: [.thinking("0.6", "wants "), .done("0.6-end")], thinking: "wants "),
        Sample(
            stream: "reasoning of llama-server",
            #"{"id":"chatcmpl-7","choices":[{"delta":{"audio":null,"content":null,"function_call":null,"refusal":null,"role":null,"tool_calls":null,"reasoning_content":"wants "},"index":0,"finish_reason":null,"logprobs":null}],"created":1763635166,"model":"llama/tiny","object":"chat.completion.chunk","moderation":null,"obfuscation":null,"service_tier":null,"system_fingerprint":"b11669-Debian","usage":null}"#,
            #"{"id":"chatcmpl-7","choices":[{"delta":{"audio":null,"content":null,"function_call":null,"refusal":null,"role":null,"tool_calls":null},"index":0,"finish_reason":"stop","logprobs":null}],"created":1763635166,"model":"llama/tiny","object":"chat.completion.chunk","moderation":null,"obfuscation":null,"service_tier":null,"system_fingerprint":"b11669-Debian","usage":null}"#,
            events: [.thinking("0.6", "wants "), .done("0.6-end")], thinking: "wants "),
        Sample(
            stream: "an error in the middle",
            #"{"id":"chatcmpl-8","choices":[{"delta":{"audio":null,"content":"Hello! ","function_call":null,"refusal":null,"role":"assistant","tool_calls":null},"index":0,"finish_reason":null,"logprobs":null}],"created":1763635166,"model":"ollama/tiny:latest","object":"chat.completion.chunk","moderation":null,"obfuscation":null,"service_tier":null,"system_fingerprint":"fp_ollama","usage":null}"#,
            #"{"error": {"message": "Internal server error: An unexpected error occurred.", "code": "500"}}"#,
            events: [.text("7", "Hello! ")],
            end: .error("upstream_error", "Internal server error: An unexpected error occurred."), text: "Hello! "),
        Sample(
            stream: "the failure of an Ollama behind it, in silence",
            #"{"id":"chatcmpl-9","choices":[{"delta":{"audio":null,"content":"2, ","function_call":null,"refusal":null,"role":"assistant","tool_calls":null},"index":0,"finish_reason":null,"logprobs":null}],"created":1763635166,"model":"ollama/slow:latest","object":"chat.completion.chunk","moderation":null,"obfuscation":null,"service_tier":null,"system_fingerprint":"fp_ollama","usage":null}"#,
            #"{"id":"chatcmpl-9","choices":[{"delta":{"audio":null,"content":"","function_call":null,"refusal":null,"role":null,"tool_calls":null},"index":0,"finish_reason":null,"logprobs":null}],"created":1763635166,"model":"","object":"chat.completion.chunk","moderation":null,"obfuscation":null,"service_tier":null,"system_fingerprint":"fp_ollama","usage":null}"#,
            events: [.text("3", "2, ")], end: .incomplete, text: "2, "),
        Sample(
            status: 404,
            #"{"error":{"message":"Model 'no-such-model' not found. Use 'client.models.list()' to list available Models."}}"#,
            .error(
                "model_not_found",
                "Model 'no-such-model' not found. Use 'client.models.list()' to list available Models.",
                retryable: false)),
        Sample(
            status: 400,
            #"{"error":{"message":"Error code: 400 - {'error': {'message': 'invalid message content type', 'type': 'invalid_request_error'}}"}}"#,
            .error(
                "upstream_rejected",
                "Error code: 400 - {'error': {'message': 'invalid message content type', 'type': 'invalid_request_error'}}",
                retryable: false)),
    ])

/// Llama Stack 0.2.12, `/v1/inference/chat-completion`.
let oldLlamaStackSamples = SampleServer(
    "Llama Stack 0.2", kind: "llamastack",
    [
        Sample(
            stream: "text",
            #"{"metrics":null,"event":{"event_type":"start","delta":{"type":"text","text":""},"logprobs":null,"stop_reason":null}}"#,
            #"{"metrics":null,"event":{"event_type":"progress","delta":{"type":"text","text":"Hello! "},"logprobs":null,"stop_reason":null}}"#,
            #"{"metrics":[{"metric":"prompt_tokens","value":12,"unit":null},{"metric":"completion_tokens","value":26,"unit":null},{"metric":"total_tokens","value":38,"unit":null}],"event":{"event_type":"complete","delta":{"type":"text","text":""},"logprobs":null,"stop_reason":"end_of_turn"}}"#,
            events: [.text("7", "Hello! "), .done("7-end", counts: #","prompt_eval_count":12,"eval_count":26"#)],
            text: "Hello! "),
        Sample(
            stream: "a tool call",
            #"{"metrics":null,"event":{"event_type":"start","delta":{"type":"text","text":""},"logprobs":null,"stop_reason":null}}"#,
            #"{"metrics":null,"event":{"event_type":"progress","delta":{"type":"tool_call","tool_call":{"call_id":"lnHk8s2v","tool_name":"get_weather","arguments":{"city":"Oslo","unit":"celsius"},"arguments_json":"{\"city\": \"Oslo\", \"unit\": \"celsius\"}"},"parse_status":"succeeded"},"logprobs":null,"stop_reason":null}}"#,
            #"{"metrics":[{"metric":"prompt_tokens","value":12,"unit":null},{"metric":"completion_tokens","value":26,"unit":null},{"metric":"total_tokens","value":38,"unit":null}],"event":{"event_type":"complete","delta":{"type":"text","text":""},"logprobs":null,"stop_reason":"end_of_message"}}"#,
            events: [
                .calls(
                    "0.0.106",
                    #"[{"id":"lnHk8s2v","function":{"index":0,"name":"get_weather","arguments":{"city":"Oslo","unit":"celsius"}}}]"#
                ),
                .done("0.0.106-end", counts: #","prompt_eval_count":12,"eval_count":26"#),
            ],
            extras:
                #""tool_calls":[{"id":"lnHk8s2v","function":{"index":0,"name":"get_weather","arguments":{"city":"Oslo","unit":"celsius"}}}]"#
        ),
        Sample(
            stream: "as far as it may go",
            #"{"metrics":null,"event":{"event_type":"start","delta":{"type":"text","text":""},"logprobs":null,"stop_reason":null}}"#,
            #"{"metrics":null,"event":{"event_type":"progress","delta":{"type":"text","text":"dum, "},"logprobs":null,"stop_reason":null}}"#,
            #"{"metrics":null,"event":{"event_type":"complete","delta":{"type":"text","text":""},"logprobs":null,"stop_reason":"out_of_tokens"}}"#,
            events: [.text("5", "dum, "), .done("5-end", "length")], text: "dum, "),
        Sample(
            stream: "an unknown model, after a 200",
            #"{"error": {"message": "400: Invalid value: Model 'nope' not found"}}"#,
            end: .error("model_not_found", "Invalid value: Model 'nope' not found", retryable: false)),
        Sample(
            stream: "an error in the middle",
            #"{"metrics":null,"event":{"event_type":"start","delta":{"type":"text","text":""},"logprobs":null,"stop_reason":null}}"#,
            #"{"metrics":null,"event":{"event_type":"progress","delta":{"type":"text","text":"Hello! "},"logprobs":null,"stop_reason":null}}"#,
            #"{"error": {"message": "500: Internal server error: An unexpected error occurred."}}"#,
            events: [.text("7", "Hello! ")],
            end: .error("upstream_error", "Internal server error: An unexpected error occurred."),
            text: "Hello! "),
    ])
