import ChatterdChat
import ChatterdModelServers
import ChatterdTestSupport

/// OpenAI's chat completions, as each server spells them.
struct OpenAIWriter: ServerWriter {
    enum Server: String, Sendable, CaseIterable {
        case vLLM
        case llamaCpp = "llama.cpp"
        case liteLLM = "LiteLLM"
        case ollama = "Ollama /v1"
        case openAI = "OpenAI"
        case llamaCppPython = "llama-cpp-python"
        case llamaStack = "Llama Stack 0.7"
    }

    let server: Server

    var name: String { server.rawValue }
    var kind: UpstreamDescription.Kind { .openai }
    var contentType: String { server == .openAI ? "text/event-stream; charset=utf-8" : "text/event-stream" }
    var tellsUsage: Bool { server != .llamaCppPython }
    var tellsErrors: Bool { server != .ollama }

    func events(_ output: ModelOutput) -> [String]? {
        guard server != .llamaCppPython || output.calls.isEmpty else { return nil }
        guard thinkingName != nil || output.thinking.isEmpty else { return nil }
        if output.pieces.isEmpty, case .silent = output.ending { return [] }
        var chunks = opening
        for piece in output.pieces {
            switch piece {
            case .text(let text): chunks.append(chunk(delta(content: string(text))))
            case .thinking(let text): chunks.append(chunk(delta(thinking: string(text))))
            case .calls(let calls): chunks += deltas(of: calls).map { chunk(delta(calls: $0)) }
            }
        }
        guard let end = end(output) else { return nil }
        let events = (chunks + end).map { "data: \($0)\n\n" }
        let ping = ": ping - 2026-11-20 11:15:20.022075+00:00\n\n"
        return server == .llamaCppPython ? [ping] + events.flatMap { [$0, ping] } : events
    }

    /// The data of the events before the first token of the model.
    private var opening: [String] {
        switch server {
        case .vLLM, .openAI: [chunk(delta(role: "\"assistant\"", content: "\"\""))]
        case .llamaCpp: [chunk(delta(role: "\"assistant\"", content: "null"))]
        case .llamaCppPython: [chunk("{\"role\": \"assistant\"}")]
        case .liteLLM, .ollama, .llamaStack: []
        }
    }

    /// The data of the events that end the answer; `nil` if this server never ends an answer in this way.
    private func end(_ output: ModelOutput) -> [String]? {
        let done = server == .llamaStack ? [] : ["[DONE]"]
        switch output.ending {
        case .finished(let reason):
            guard let word = word(for: reason) else { return nil }
            return [finish(word)] + (output.usage.flatMap(usage).map { [$0] } ?? []) + done
        case .brokenAfter(let reason):
            return word(for: reason).map { [finish($0)] }
        case .failed(let words):
            return failure(words)
        case .unexplained:
            return done.isEmpty ? nil : done
        case .silent, .broken:
            return []
        }
    }

    private func word(for reason: ModelOutput.Reason) -> String? {
        switch reason {
        case .stop: "stop"
        case .length: "length"
        case .toolCalls: "tool_calls"
        case .filter: server == .ollama || server == .llamaCpp || server == .llamaCppPython ? nil : "content_filter"
        }
    }

    private func string(_ text: ModelOutput.Text) -> String { server == .llamaCppPython ? text.asciiJSON : text.json }

    // MARK: - Deltas

    /// The server's name for the thoughts of the model; `nil` if it does not send them.
    private var thinkingName: String? {
        switch server {
        case .vLLM, .ollama, .llamaStack: "reasoning"
        case .llamaCpp, .liteLLM: "reasoning_content"
        case .openAI, .llamaCppPython: nil
        }
    }

    private func delta(
        role: String? = nil, content: String? = nil, thinking: String? = nil, calls: String? = nil
    ) -> String {
        let more = thinking.map { ",\"\(thinkingName ?? "")\":\($0)" } ?? ""
        switch server {
        case .llamaStack:
            let calls = "\"role\":\(role ?? "\"assistant\""),\"tool_calls\":\(calls ?? "null")"
            return
                "{\"audio\":null,\"content\":\(content ?? "null"),\"function_call\":null,\"refusal\":null,\(calls)\(more)}"
        case .ollama, .liteLLM:
            let calls = calls.map { ",\"tool_calls\":\($0)" } ?? ""
            return "{\"role\":\"assistant\",\"content\":\(content ?? "\"\"")\(more)\(calls)}"
        case .openAI:
            let members = [role.map { "\"role\":\($0)" }, content.map { "\"content\":\($0)" }]
            let all = members + [calls.map { "\"tool_calls\":\($0)" }]
            let refusal = role == nil ? [] : ["\"refusal\":null"]
            return "{\((all.compactMap(\.self) + refusal).joined(separator: ","))}"
        case .vLLM:
            let role = role.map { "\"role\":\($0)," } ?? ""
            if let calls { return "{\"content\":null,\"tool_calls\":\(calls)}" }
            return thinking == nil ? "{\(role)\"content\":\(content ?? "null")}" : "{\(more.dropFirst())}"
        case .llamaCpp:
            if let calls { return "{\"tool_calls\":\(calls)}" }
            let role = role.map { "\"role\":\($0)," } ?? ""
            return thinking == nil ? "{\(role)\"content\":\(content ?? "null")}" : "{\(more.dropFirst())}"
        case .llamaCppPython:
            return "{\"content\": \(content ?? "null")}"
        }
    }

    /// The `tool_calls` of the deltas.
    private func deltas(of calls: [ModelOutput.Call]) -> [String] {
        calls.enumerated().flatMap { index, call -> [String] in
            let name = jsonString(call.name)
            let pieces = call.arguments.map(jsonString)
            let whole = jsonString(call.arguments.joined())
            let piece = { (text: String) in "{\"index\":\(index),\"function\":{\"arguments\":\(text)}}" }
            let id = "\"id\":\"\(call.id)\",\"type\":\"function\""
            switch server {
            case .vLLM:
                // The name without arguments; from the second call on together with the first of them.
                let start = "{\(id),\"index\":\(index),\"function\":{\"name\":\(name)}}"
                guard index > 0, let first = pieces.first else {
                    return ["[\(start)]"] + pieces.map { "[\(piece($0))]" }
                }
                return ["[\(start),\(piece(first))]"] + pieces.dropFirst().map { "[\(piece($0))]" }
            case .llamaCpp:
                let first = pieces.first ?? "\"\""
                let start = "{\"index\":\(index),\(id),\"function\":{\"name\":\(name),\"arguments\":\(first)}}"
                return ["[\(start)]"] + pieces.dropFirst().map { "[\(piece($0))]" }
            case .liteLLM:
                let start = "{\(id),\"function\":{\"arguments\":\"\",\"name\":\(name)},\"index\":\(index)}"
                return ["[\(start)]"]
                    + pieces.map {
                        let rest = "\"type\":\"function\",\"function\":{\"arguments\":\($0),\"name\":null}"
                        return "[{\"id\":null,\(rest),\"index\":\(index)}]"
                    }
            case .openAI:
                let start = "{\"index\":\(index),\(id),\"function\":{\"name\":\(name),\"arguments\":\"\"}}"
                return ["[\(start)]"] + pieces.map { "[\(piece($0))]" }
            case .ollama, .llamaStack, .llamaCppPython:
                let function = "\"function\":{\"name\":\(name),\"arguments\":\(whole)}"
                return ["[{\"id\":\"\(call.id)\",\"index\":\(index),\"type\":\"function\",\(function)}]"]
            }
        }
    }

    // MARK: - Chunks

    private func finish(_ word: String) -> String {
        switch server {
        case .llamaStack: chunk(delta(), reason: word)
        default: chunk("{}", reason: word)
        }
    }

    private func chunk(_ delta: String, reason: String? = nil) -> String {
        let word = reason.map { "\"\($0)\"" } ?? "null"
        switch server {
        case .vLLM:
            let stop = reason == nil ? "" : "\"stop_reason\":null,"
            return envelope(
                "[{\"index\":0,\"delta\":\(delta),\"logprobs\":null,\"finish_reason\":\(word),\(stop)\"token_ids\":null}]"
            )
        case .llamaCpp:
            return envelope("[{\"finish_reason\":\(word),\"index\":0,\"delta\":\(delta)}]")
        case .liteLLM:
            return envelope("[{\(reason == nil ? "" : "\"finish_reason\":\(word),")\"index\":0,\"delta\":\(delta)}]")
        case .ollama:
            return envelope("[{\"index\":0,\"delta\":\(delta),\"finish_reason\":\(word)}]")
        case .openAI:
            return envelope("[{\"index\":0,\"delta\":\(delta),\"logprobs\":null,\"finish_reason\":\(word)}]")
        case .llamaCppPython:
            return envelope(
                "[{\"index\": 0, \"delta\": \(delta), \"logprobs\": null, \"finish_reason\": \(word)}]")
        case .llamaStack:
            return envelope("[{\"delta\":\(delta),\"index\":0,\"finish_reason\":\(word),\"logprobs\":null}]")
        }
    }

    private func usage(_ usage: ModelOutput.Usage) -> String? {
        let total = usage.prompt + usage.answer
        let counts = "\"prompt_tokens\":\(usage.prompt),\"completion_tokens\":\(usage.answer),\"total_tokens\":\(total)"
        switch server {
        case .vLLM, .ollama: return envelope("[]", usage: "{\(counts)}")
        case .llamaCpp: return envelope("[]", usage: "{\(counts),\"prompt_tokens_details\":{\"cached_tokens\":0}}")
        case .liteLLM: return envelope("[{\"index\":0,\"delta\":{}}]", usage: "{\(counts)}")
        case .openAI:
            let details = "\"completion_tokens_details\":{\"reasoning_tokens\":0,\"audio_tokens\":0}"
            return envelope("[]", usage: "{\(counts),\(details)}")
        case .llamaStack:
            return envelope(
                "[]", usage: "{\(counts),\"completion_tokens_details\":null,\"prompt_tokens_details\":null}")
        case .llamaCppPython: return nil
        }
    }

    private func envelope(_ choices: String, usage: String? = nil) -> String {
        let plain = "\"object\":\"chat.completion.chunk\",\"created\":1763635166"
        let more = usage.map { ",\"usage\":\($0)" } ?? ""
        switch server {
        case .vLLM:
            return "{\"id\":\"chatcmpl-1\",\(plain),\"model\":\"tiny\",\"choices\":\(choices)\(more)}"
        case .llamaCpp:
            let rest = "\"id\":\"chatcmpl-1\",\"model\":\"tiny.gguf\",\"system_fingerprint\":\"b1-Debian\""
            return "{\"choices\":\(choices),\(rest),\(plain)\(more)}"
        case .liteLLM:
            return "{\"id\":\"chatcmpl-1\",\"model\":\"tiny\",\(plain),\"choices\":\(choices)\(more)}"
        case .ollama:
            let rest = "\"model\":\"tiny\",\"system_fingerprint\":\"fp_ollama\""
            return "{\"id\":\"chatcmpl-27\",\(plain),\(rest),\"choices\":\(choices)\(more)}"
        case .openAI:
            let rest = "\"model\":\"tiny\",\"service_tier\":\"default\",\"system_fingerprint\":null"
            let padding = "\"usage\":\(usage ?? "null"),\"obfuscation\":\"3kRxQ\""
            return "{\"id\":\"chatcmpl-1\",\(plain),\(rest),\"choices\":\(choices),\(padding)}"
        case .llamaCppPython:
            let head = "\"id\": \"chatcmpl-1\", \"model\": \"tiny\", \"created\": 1763635166"
            return "{\(head), \"object\": \"chat.completion.chunk\", \"choices\": \(choices)}"
        case .llamaStack:
            let rest = "\"moderation\":null,\"obfuscation\":null,\"service_tier\":null,\"system_fingerprint\":\"fp\""
            let head = "\"id\":\"chatcmpl-5\",\"choices\":\(choices),\(plain),\"model\":\"ollama/tiny:latest\""
            return "{\(head),\(rest),\"usage\":\(usage ?? "null")}"
        }
    }

    /// The data of the events of a failure in the middle of an answer; `nil` if no such event is known.
    private func failure(_ words: String) -> [String]? {
        let message = jsonString(words)
        switch server {
        case .vLLM:
            let members = "\"message\": \(message), \"type\": \"InternalServerError\", \"param\": null, \"code\": 500"
            return ["{\"error\": {\(members)}}", "[DONE]"]
        case .llamaCpp:
            return ["{\"error\":{\"code\":500,\"message\":\(message),\"type\":\"server_error\"}}"]
        case .liteLLM:
            return ["{\"error\": {\"message\": \(message), \"type\": null, \"param\": null, \"code\": \"500\"}}"]
        case .ollama:
            // The error is lost: an empty chunk of no model.
            return [
                envelope("[{\"index\":0,\"delta\":{\"content\":\"\"},\"finish_reason\":null}]")
                    .replacing("\"tiny\"", with: "\"\"")
            ]
        case .openAI:
            return [
                "{\"error\":{\"message\":\(message),\"type\":\"server_error\",\"code\":null,\"param\":null}}", "[DONE]",
            ]
        case .llamaStack:
            return ["{\"error\": {\"message\": \(message), \"code\": \"500\"}}"]
        case .llamaCppPython:
            return nil
        }
    }
}
