/// llama.cpp's llama-server 0.7.0. Elided envelopes, ids, counts and timings are filled in.
let llamaServerSamples = SampleServer(
    "llama-server", kind: "openai",
    [
        Sample(
            stream: "text",
            #"{"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"created":1763635166,"id":"chatcmpl-Xk2","model":"MODEL.gguf","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}"#,
            #"{"choices":[{"finish_reason":null,"index":0,"delta":{"content":"Hello! "}}],"created":1763635166,"id":"chatcmpl-Xk2","model":"MODEL.gguf","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}"#,
            #"{"choices":[{"finish_reason":"stop","index":0,"delta":{}}],"created":1763635166,"id":"chatcmpl-Xk2","model":"MODEL.gguf","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}"#,
            #"{"choices":[],"created":1763635166,"id":"chatcmpl-Xk2","model":"MODEL.gguf","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk","usage":{"completion_tokens":13,"prompt_tokens":18,"total_tokens":31,"prompt_tokens_details":{"cached_tokens":0}},"timings":{"cache_n":0,"prompt_n":18,"prompt_ms":8.5,"prompt_per_token_ms":0.4722222222222222,"prompt_per_second":2117.6470588235293,"predicted_n":13,"predicted_ms":19.25,"predicted_per_token_ms":1.480769230769231,"predicted_per_second":675.3246753246754}}"#,
            "[DONE]",
            events: [
                .text("7", "Hello! "),
                .done(
                    "7-end",
                    counts:
                        #","prompt_eval_count":18,"prompt_eval_duration":8500000,"eval_count":13,"eval_duration":19250000"#
                ),
            ],
            text: "Hello! "
        ).joining(2),
        Sample(
            stream: "timings beside the reason",
            #"{"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"created":1763635166,"id":"chatcmpl-Xk3","model":"MODEL.gguf","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}"#,
            #"{"choices":[{"finish_reason":null,"index":0,"delta":{"content":"dum, "}}],"created":1763635166,"id":"chatcmpl-Xk3","model":"MODEL.gguf","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}"#,
            #"{"choices":[{"finish_reason":"length","index":0,"delta":{}}],"created":1763635166,"id":"chatcmpl-Xk3","model":"MODEL.gguf","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk","timings":{"cache_n":0,"prompt_n":18,"prompt_ms":8.5,"predicted_n":13,"predicted_ms":19.25}}"#,
            "[DONE]",
            events: [
                .text("5", "dum, "),
                .done(
                    "5-end", "length",
                    counts:
                        #","prompt_eval_count":18,"prompt_eval_duration":8500000,"eval_count":13,"eval_duration":19250000"#
                ),
            ],
            text: "dum, "),
        Sample(
            stream: "reasoning",
            #"{"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"created":1763635166,"id":"chatcmpl-Xk4","model":"MODEL.gguf","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}"#,
            #"{"choices":[{"finish_reason":null,"index":0,"delta":{"reasoning_content":"wants "}}],"created":1763635166,"id":"chatcmpl-Xk4","model":"MODEL.gguf","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}"#,
            #"{"choices":[{"finish_reason":null,"index":0,"delta":{"content":"Hello! "}}],"created":1763635166,"id":"chatcmpl-Xk4","model":"MODEL.gguf","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}"#,
            #"{"choices":[{"finish_reason":"stop","index":0,"delta":{}}],"created":1763635166,"id":"chatcmpl-Xk4","model":"MODEL.gguf","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}"#,
            "[DONE]",
            events: [.thinking("0.6", "wants "), .text("7.6", "Hello! "), .done("7.6-end")],
            text: "Hello! ", thinking: "wants "),
        Sample(
            stream: "tool calls in pieces",
            #"{"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"created":1763635166,"id":"chatcmpl-Xk5","model":"MODEL.gguf","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}"#,
            #"{"choices":[{"finish_reason":null,"index":0,"delta":{"tool_calls":[{"index":0,"id":"vdSF7k2m","type":"function","function":{"name":"get_weather","arguments":"{"}}]}}],"created":1763635166,"id":"chatcmpl-Xk5","model":"MODEL.gguf","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}"#,
            #"{"choices":[{"finish_reason":null,"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"city\": \"Oslo\","}}]}}],"created":1763635166,"id":"chatcmpl-Xk5","model":"MODEL.gguf","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}"#,
            #"{"choices":[{"finish_reason":null,"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":" \"unit\": \"celsius\"}"}}]}}],"created":1763635166,"id":"chatcmpl-Xk5","model":"MODEL.gguf","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}"#,
            #"{"choices":[{"finish_reason":null,"index":0,"delta":{"tool_calls":[{"index":1,"id":"qW81xz9c","type":"function","function":{"name":"get_weather","arguments":"{\"city\": \"Bergen\"}"}}]}}],"created":1763635166,"id":"chatcmpl-Xk5","model":"MODEL.gguf","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}"#,
            #"{"choices":[{"finish_reason":"tool_calls","index":0,"delta":{}}],"created":1763635166,"id":"chatcmpl-Xk5","model":"MODEL.gguf","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}"#,
            "[DONE]",
            events: [
                .calls(
                    "0.0.202",
                    #"[{"id":"vdSF7k2m","function":{"index":0,"name":"get_weather","arguments":{"city": "Oslo", "unit": "celsius"}}},{"id":"qW81xz9c","function":{"index":1,"name":"get_weather","arguments":{"city": "Bergen"}}}]"#
                ),
                .done("0.0.202-end"),
            ],
            extras:
                #""tool_calls":[{"id":"vdSF7k2m","function":{"index":0,"name":"get_weather","arguments":{"city": "Oslo", "unit": "celsius"}}},{"id":"qW81xz9c","function":{"index":1,"name":"get_weather","arguments":{"city": "Bergen"}}}]"#
        ),
        Sample(
            stream: "an error in the middle",
            #"{"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"created":1763635166,"id":"chatcmpl-Xk6","model":"MODEL.gguf","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}"#,
            #"{"choices":[{"finish_reason":null,"index":0,"delta":{"content":"dum, "}}],"created":1763635166,"id":"chatcmpl-Xk6","model":"MODEL.gguf","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}"#,
            #"{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}"#,
            events: [.text("5", "dum, ")], end: .error("upstream_error", "Context size has been exceeded."),
            text: "dum, "),
        Sample(
            stream: "a server that is killed",
            #"{"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"created":1763635166,"id":"chatcmpl-Xk7","model":"MODEL.gguf","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}"#,
            #"{"choices":[{"finish_reason":null,"index":0,"delta":{"content":"dum, "}}],"created":1763635166,"id":"chatcmpl-Xk7","model":"MODEL.gguf","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}"#,
            isCut: true, events: [.text("5", "dum, ")], end: .broken, text: "dum, "),
        Sample(
            status: 400,
            #"{"error":{"code":400,"message":"request (28015 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":28015,"n_ctx":4096}}"#,
            .error(
                "context_too_long",
                "request (28015 tokens) exceeds the available context size (4096 tokens), try increasing it",
                retryable: false)),
        Sample(
            status: 400,
            #"{"error":{"code":400,"message":"'messages' is required","type":"invalid_request_error"}}"#,
            .error("upstream_rejected", "'messages' is required", retryable: false)),
        Sample(
            status: 401,
            #"{"error":{"message":"Invalid API Key","type":"authentication_error","code":401}}"#, .refused),
        Sample(
            status: 404, #"{"error":{"message":"File Not Found","type":"not_found_error","code":404}}"#,
            .error(
                "upstream_rejected", "The model server does not know …/chat/completions: is its URL right?",
                retryable: false)),
        Sample(
            status: 500,
            #"{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}"#,
            .error(
                "upstream_rejected",
                "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
                retryable: false)),
        Sample(
            status: 503, #"{"error":{"message":"Loading model","type":"unavailable_error","code":503}}"#,
            .error("upstream_busy", "Loading model")),
        Sample(
            status: 400,
            #"{"error":{"code":400,"message":"model 'nope' not found","type":"invalid_request_error"}}"#,
            .error("model_not_found", "model 'nope' not found", retryable: false)),
    ])
