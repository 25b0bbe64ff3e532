/// llama-cpp-python's server 0.3.36.
let llamaCppPythonSamples = SampleServer(
    "llama-cpp-python", kind: "openai",
    [
        Sample(
            stream: "text, with spaces and pings",
            ": ping - 2026-11-20 11:15:20.022075+00:00",
            #"{"id": "chatcmpl-7d1f", "model": "tiny", "created": 1763635166, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"role": "assistant"}, "logprobs": null, "finish_reason": null}]}"#,
            #"{"id": "chatcmpl-7d1f", "model": "tiny", "created": 1763635166, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "today?"}, "logprobs": null, "finish_reason": null}]}"#,
            ": ping - 2026-11-20 11:15:35.022075+00:00",
            #"{"id": "chatcmpl-7d1f", "model": "tiny", "created": 1763635166, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "logprobs": null, "finish_reason": "stop"}]}"#,
            "[DONE]",
            events: [.text("6", "today?"), .done("6-end")], text: "today?"),
        Sample(
            stream: "a tool call that stays text",
            #"{"id": "chatcmpl-7d20", "model": "tiny", "created": 1763635166, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>"}, "logprobs": null, "finish_reason": null}]}"#,
            #"{"id": "chatcmpl-7d20", "model": "tiny", "created": 1763635166, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "logprobs": null, "finish_reason": "stop"}]}"#,
            "[DONE]",
            events: [
                .line(
                    "55",
                    #"{"model":"tiny","created_at":"TIME","message":{"role":"assistant","content":"<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>"},"done":false}"#
                ), .done("55-end"),
            ],
            text: "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>"),
        Sample(stream: "a prompt too long: 200 without text", end: .empty),
        Sample(
            status: 400,
            #"{"error":{"message":"This model's maximum context length is 4096 tokens. However, you requested 28015 tokens (28015 in the messages, None in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
            .error(
                "context_too_long",
                "This model's maximum context length is 4096 tokens. However, you requested 28015 tokens (28015 in the messages, None in the completion). Please reduce the length of the messages or completion.",
                retryable: false)),
        Sample(
            status: 500, "Internal Server Error", type: "text/plain; charset=utf-8",
            .error("upstream_error", "The model server failed with status 500.")),
        Sample(
            status: 500,
            #"{"error":{"message":"[{'type': 'missing', 'loc': ('body', 'messages'), 'msg': 'Field required'}]\n  File \"/app/server.py\", line 1, in <module>","type":"internal_server_error","param":null,"code":null}}"#,
            .error(
                "upstream_rejected", "[{'type': 'missing', 'loc': ('body', 'messages'), 'msg': 'Field required'}]\n  …",
                retryable: false)),
    ])

/// LiteLLM's proxy 1.106.2. A few stand for its 25 further fields.
let liteLLMSamples = SampleServer(
    "LiteLLM", kind: "openai",
    [
        Sample(
            stream: "text, and counts beside an empty delta",
            #"{"id":"chatcmpl-27","created":1763635166,"model":"tiny","object":"chat.completion.chunk","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"content":"Hello! ","role":"assistant"}}]}"#,
            #"{"id":"chatcmpl-27","created":1763635166,"model":"tiny","object":"chat.completion.chunk","system_fingerprint":"fp_ollama","choices":[{"finish_reason":"stop","index":0,"delta":{}}]}"#,
            #"{"id":"chatcmpl-27","created":1763635166,"model":"tiny","object":"chat.completion.chunk","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{}}],"usage":{"completion_tokens":13,"prompt_tokens":18,"total_tokens":31}}"#,
            "[DONE]",
            fields: [
                ("x-litellm-call-id", "0a1b"), ("x-litellm-model-group", "tiny"), ("x-litellm-version", "1.106.2"),
                ("x-litellm-response-cost", "0.0"), ("x-litellm-key-tpm-limit", "None"),
                ("llm_provider-date", "Fri, 20 Nov 2026 10:39:26 GMT"),
            ],
            events: [.text("7", "Hello! "), .done("7-end", counts: #","prompt_eval_count":18,"eval_count":13"#)],
            text: "Hello! "),
        Sample(
            stream: "reasoning",
            #"{"id":"chatcmpl-28","created":1763635166,"model":"tiny","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"reasoning_content":"wants ","content":"","role":"assistant"}}]}"#,
            #"{"id":"chatcmpl-28","created":1763635166,"model":"tiny","object":"chat.completion.chunk","choices":[{"finish_reason":"stop","index":0,"delta":{}}]}"#,
            "[DONE]",
            events: [.thinking("0.6", "wants "), .done("0.6-end")], thinking: "wants "),
        Sample(
            stream: "an error in the middle",
            #"{"id":"chatcmpl-29","created":1763635166,"model":"tiny","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"dum, ","role":"assistant"}}]}"#,
            #"{"error": {"message": "litellm.APIConnectionError: APIConnectionError: OpenAIException - Context size has been exceeded.", "type": null, "param": null, "code": "500"}}"#,
            events: [.text("5", "dum, ")],
            end: .error(
                "upstream_error",
                "litellm.APIConnectionError: APIConnectionError: OpenAIException - Context size has been exceeded."),
            text: "dum, "),
        Sample(
            status: 400,
            #"{"error":{"message":"litellm.BadRequestError: OpenAIException - 'messages' is required","type":"invalid_request_error","param":null,"code":"400"}}"#,
            .error(
                "upstream_rejected", "litellm.BadRequestError: OpenAIException - 'messages' is required",
                retryable: false)),
    ])
