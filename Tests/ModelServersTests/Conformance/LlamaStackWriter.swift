import ChatterdChat
import ChatterdModelServers
import ChatterdTestSupport

/// The native API of Llama Stack 0.2.
struct LlamaStackWriter: ServerWriter {
    var name: String { "Llama Stack 0.2" }
    var kind: UpstreamDescription.Kind { .llamastack }
    var contentType: String { "text/event-stream" }

    func events(_ output: ModelOutput) -> [String]? {
        guard output.thinking.isEmpty else { return nil }
        if output.pieces.isEmpty, case .silent = output.ending { return [] }
        var events = [event("start", "{\"type\":\"text\",\"text\":\"\"}")]
        for piece in output.pieces {
            switch piece {
            case .text(let text): events.append(event("progress", "{\"type\":\"text\",\"text\":\(text.json)}"))
            case .thinking: break
            case .calls(let calls): events += calls.map { event("progress", delta(of: $0)) }
            }
        }
        switch output.ending {
        case .finished(let reason), .brokenAfter(let reason):
            guard let word = word(for: reason) else { return nil }
            let end = event(
                "complete", "{\"type\":\"text\",\"text\":\"\"}", reason: word, metrics: metrics(output.usage))
            return events + [end]
        case .failed(let words):
            return events + ["data: {\"error\": {\"message\": \(jsonString(words))}}\n\n"]
        case .silent, .broken:
            return events
        case .unexplained:
            return nil
        }
    }

    private func word(for reason: ModelOutput.Reason) -> String? {
        switch reason {
        case .stop: "end_of_turn"
        case .toolCalls: "end_of_message"
        case .length: "out_of_tokens"
        case .filter: nil
        }
    }

    private func delta(of call: ModelOutput.Call) -> String {
        let arguments = call.arguments.joined()
        let text = "\"arguments\":\(arguments),\"arguments_json\":\(jsonString(arguments))"
        let members = "\"call_id\":\"\(call.id)\",\"tool_name\":\(jsonString(call.name)),\(text)"
        return "{\"type\":\"tool_call\",\"tool_call\":{\(members)},\"parse_status\":\"succeeded\"}"
    }

    private func metrics(_ usage: ModelOutput.Usage?) -> String {
        guard let usage else { return "null" }
        let values = [("prompt", usage.prompt), ("completion", usage.answer), ("total", usage.prompt + usage.answer)]
        return
            "[\(values.map { "{\"metric\":\"\($0)_tokens\",\"value\":\($1),\"unit\":null}" }.joined(separator: ","))]"
    }

    private func event(_ type: String, _ delta: String, reason: String? = nil, metrics: String = "null") -> String {
        let rest = "\"logprobs\":null,\"stop_reason\":\(reason.map { "\"\($0)\"" } ?? "null")"
        return "data: {\"metrics\":\(metrics),\"event\":{\"event_type\":\"\(type)\",\"delta\":\(delta),\(rest)}}\n\n"
    }
}
