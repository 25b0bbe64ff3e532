import ChatterdBasics

/// Why an answer has ended, in Anthropic's words.
struct AnthropicStop {
    /// `max_tokens`, `tool_use`, `stop_sequence` or `end_turn`.
    let reason: String
    /// The sequence of the request at which the model stopped; `nil` for another reason, and if the model server does not name it.
    let sequence: String?

    /// Reads the last line of an answer.
    init(_ lastLine: [UInt8], isCut: Bool, hasCalls: Bool) {
        guard !isCut, !hasCalls else {
            reason = isCut ? "max_tokens" : "tool_use"
            sequence = nil
            return
        }
        let text = (try? JSONSlice(lastLine))?.last("stop_reason", .string)?.string ?? ""
        reason = text.isEmpty ? "end_turn" : "stop_sequence"
        sequence = text.isEmpty ? nil : text
    }
}
