import ChatterdChat
import ChatterdModelServers
import ChatterdTestSupport

/// Ollama's own API, in the form of its two generations.
struct OllamaWriter: ServerWriter {
    let dialect: ModelDialect

    var name: String { dialect == .v0_32 ? "Ollama 0.32" : "Ollama 0.11" }
    var kind: UpstreamDescription.Kind { .ollama }
    var contentType: String { "application/x-ndjson" }
    var tellsCallIDs: Bool { dialect == .v0_32 }

    func events(_ output: ModelOutput) -> [String]? {
        var lines: [String] = []
        var held = ""
        for piece in output.pieces {
            switch piece {
            case .text(let text):
                lines.append(line("\"content\":\(text.json)", "\"done\":false"))
            case .thinking(let text):
                lines.append(line("\"content\":\"\",\"thinking\":\(text.json)", "\"done\":false"))
            case .calls(let calls):
                switch dialect {
                case .v0_32:
                    held = ",\"tool_calls\":[\(calls.enumerated().map { call($1, at: $0) }.joined(separator: ","))]"
                case .v0_11:
                    lines += calls.enumerated().map {
                        line("\"content\":\"\",\"tool_calls\":[\(call($1, at: $0))]", "\"done\":false")
                    }
                }
            }
        }
        switch output.ending {
        case .finished(let reason), .brokenAfter(let reason):
            guard let word = word(for: reason) else { return nil }
            lines.append(line("\"content\":\"\"" + held, end(word, output.usage)))
        case .failed(let words):
            lines.append(ModelLine.error(words))
        case .unexplained:
            return nil
        case .silent, .broken:
            break
        }
        return lines
    }

    private func word(for reason: ModelOutput.Reason) -> String? {
        switch reason {
        case .stop, .toolCalls: "stop"
        case .length: "length"
        case .filter: nil
        }
    }

    private func call(_ call: ModelOutput.Call, at index: Int) -> String {
        let function = "\"name\":\(jsonString(call.name)),\"arguments\":\(call.arguments.joined())"
        switch dialect {
        case .v0_32: return "{\"id\":\"\(call.id)\",\"function\":{\"index\":\(index),\(function)}}"
        case .v0_11: return "{\"function\":{\(index == 0 ? "" : "\"index\":\(index),")\(function)}}"
        }
    }

    private func line(_ message: String, _ end: String) -> String {
        "{\"model\":\"tiny\",\"created_at\":\"\(ModelLine.time)\",\"message\":{\"role\":\"assistant\",\(message)},\(end)}\n"
    }

    private func end(_ reason: String, _ usage: ModelOutput.Usage?) -> String {
        let done =
            dialect == .v0_32
            ? "\"done\":true,\"done_reason\":\"\(reason)\"" : "\"done_reason\":\"\(reason)\",\"done\":true"
        let counts = usage.map { ",\"prompt_eval_count\":\($0.prompt),\"eval_count\":\($0.answer)" } ?? ""
        return done + ",\"total_duration\":261237533,\"load_duration\":256496426" + counts
    }
}
