/// vLLM 0.32.0. Elided envelopes, ids and the rest of two long messages are filled in.
let vLLMSamples = SampleServer(
    "vLLM", kind: "openai",
    [
        Sample(
            stream: "text, the last of it beside the reason",
            #"{"id":"chatcmpl-b0a1","object":"chat.completion.chunk","created":1763635166,"model":"tiny","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"prompt_token_ids":null,"prompt_text":null}"#,
            #"{"id":"chatcmpl-b0a1","object":"chat.completion.chunk","created":1763635166,"model":"tiny","choices":[{"index":0,"delta":{"content":"Hello! "},"logprobs":null,"finish_reason":null,"token_ids":null}]}"#,
            #"{"id":"chatcmpl-b0a1","object":"chat.completion.chunk","created":1763635166,"model":"tiny","choices":[{"index":0,"delta":{"content":"I help you today?"},"logprobs":null,"finish_reason":"stop","stop_reason":null,"token_ids":null}]}"#,
            #"{"id":"chatcmpl-b0a1","object":"chat.completion.chunk","created":1763635166,"model":"tiny","choices":[],"usage":{"prompt_tokens":18,"total_tokens":31,"completion_tokens":13},"system_fingerprint":"vllm-0.32.0-tp1"}"#,
            "[DONE]",
            events: [
                .text("7", "Hello! "), .text("24", "I help you today?"),
                .done("24-end", counts: #","prompt_eval_count":18,"eval_count":13"#),
            ],
            text: "Hello! I help you today?"),
        Sample(
            stream: "reasoning",
            #"{"id":"chatcmpl-b0a2","object":"chat.completion.chunk","created":1763635166,"model":"tiny","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"prompt_token_ids":null,"prompt_text":null}"#,
            #"{"id":"chatcmpl-b0a2","object":"chat.completion.chunk","created":1763635166,"model":"tiny","choices":[{"index":0,"delta":{"reasoning":"wants "},"logprobs":null,"finish_reason":null,"token_ids":null}]}"#,
            #"{"id":"chatcmpl-b0a2","object":"chat.completion.chunk","created":1763635166,"model":"tiny","choices":[{"index":0,"delta":{"content":"Hello! "},"logprobs":null,"finish_reason":"stop","stop_reason":null,"token_ids":null}]}"#,
            "[DONE]",
            events: [.thinking("0.6", "wants "), .text("7.6", "Hello! "), .done("7.6-end")],
            text: "Hello! ", thinking: "wants "),
        Sample(
            stream: "tool calls, two entries in a delta",
            #"{"id":"chatcmpl-b0a3","object":"chat.completion.chunk","created":1763635166,"model":"tiny","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"prompt_token_ids":null,"prompt_text":null}"#,
            #"{"id":"chatcmpl-b0a3","object":"chat.completion.chunk","created":1763635166,"model":"tiny","choices":[{"index":0,"delta":{"content":null,"tool_calls":[{"id":"chatcmpl-tool-5f1","type":"function","index":0,"function":{"name":"get_weather"}}]},"logprobs":null,"finish_reason":null,"token_ids":null}]}"#,
            #"{"id":"chatcmpl-b0a3","object":"chat.completion.chunk","created":1763635166,"model":"tiny","choices":[{"index":0,"delta":{"content":null,"tool_calls":[{"index":0,"function":{"arguments":"{\"city\": \"Bergen\"}"}}]},"logprobs":null,"finish_reason":null,"token_ids":null}]}"#,
            #"{"id":"chatcmpl-b0a3","object":"chat.completion.chunk","created":1763635166,"model":"tiny","choices":[{"index":0,"delta":{"content":null,"tool_calls":[{"id":"chatcmpl-tool-9c4","type":"function","index":1,"function":{"name":"get_weather"}},{"index":1,"function":{"arguments":"{\"city\":"}}]},"logprobs":null,"finish_reason":null,"token_ids":null}]}"#,
            #"{"id":"chatcmpl-b0a3","object":"chat.completion.chunk","created":1763635166,"model":"tiny","choices":[{"index":0,"delta":{"content":null,"tool_calls":[{"index":1,"function":{"arguments":" \"Bodø\"}"}}]},"logprobs":null,"finish_reason":"tool_calls","stop_reason":null,"token_ids":null}]}"#,
            "[DONE]",
            events: [
                .calls(
                    "0.0.202",
                    #"[{"id":"chatcmpl-tool-5f1","function":{"index":0,"name":"get_weather","arguments":{"city": "Bergen"}}},{"id":"chatcmpl-tool-9c4","function":{"index":1,"name":"get_weather","arguments":{"city": "Bodø"}}}]"#
                ),
                .done("0.0.202-end"),
            ],
            extras:
                #""tool_calls":[{"id":"chatcmpl-tool-5f1","function":{"index":0,"name":"get_weather","arguments":{"city": "Bergen"}}},{"id":"chatcmpl-tool-9c4","function":{"index":1,"name":"get_weather","arguments":{"city": "Bodø"}}}]"#
        ),
        Sample(
            stream: "an error in the middle, and the mark of the end",
            #"{"id":"chatcmpl-b0a4","object":"chat.completion.chunk","created":1763635166,"model":"tiny","choices":[{"index":0,"delta":{"content":"la "},"logprobs":null,"finish_reason":null,"token_ids":null}]}"#,
            #"{"error": {"message": "EngineCore encountered an issue. See stack trace (above) for the root cause.", "type": "InternalServerError", "param": null, "code": 500}}"#,
            "[DONE]",
            events: [.text("3", "la ")],
            end: .error(
                "upstream_error", "EngineCore encountered an issue. See stack trace (above) for the root cause."),
            text: "la "),
        Sample(
            status: 404,
            #"{"error":{"message":"The model `no-such-model` does not exist. Valid aliases: tiny.","type":"NotFoundError","param":"model","code":404}}"#,
            .error(
                "model_not_found", "The model `no-such-model` does not exist. Valid aliases: tiny.", retryable: false)),
        Sample(
            status: 400,
            #"{"error":{"message":"This model's maximum context length is 4096 tokens. However, your prompt contains at least 4097 input tokens, which exceeds this limit even without any output tokens. Please reduce the length of the input prompt.","type":"BadRequestError","param":"input_tokens","code":400}}"#,
            .error(
                "context_too_long",
                "This model's maximum context length is 4096 tokens. However, your prompt contains at least 4097 input tokens, which exceeds this limit even without any output tokens. Please reduce the length of the input prompt.",
                retryable: false)),
        Sample(
            status: 400,
            #"{"error":{"message":"1 validation error:\n  {'type': 'missing', 'loc': 'body.messages', 'msg': 'Field required', 'input': {'model': 'tiny'}}","type":"Bad Request","param":"body.messages","code":400}}"#,
            .error(
                "upstream_rejected",
                "1 validation error:\n  {'type': 'missing', 'loc': 'body.messages', 'msg': 'Field required', 'input': {'model': 'tiny'}}",
                retryable: false)),
        Sample(
            status: 400, #"{"detail":"There was an error parsing the body"}"#,
            .error("upstream_rejected", "There was an error parsing the body", retryable: false)),
        Sample(
            status: 404, #"{"detail":"Not Found"}"#,
            .error(
                "upstream_rejected", "The model server does not know …/chat/completions: is its URL right?",
                retryable: false)),
        Sample(
            status: 500,
            #"{"error":{"message":"EngineCore encountered an issue. See stack trace (above) for the root cause.","type":"InternalServerError","param":null,"code":500}}"#,
            .error(
                "upstream_error", "EngineCore encountered an issue. See stack trace (above) for the root cause.")),
    ])
