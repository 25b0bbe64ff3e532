import ChatterdBasics
import ChatterdChat

/// The contents of the last line of an answer.
struct AnswerEnd {
    /// Why the model stopped: `stop` or `length`.
    var doneReason = "stop"
    /// The tokens of the prompt.
    var promptTokens: Int?
    /// The tokens of the answer.
    var answerTokens: Int?
    /// The time to read the prompt, in nanoseconds.
    var promptDuration: Int?
    /// The time to generate the answer, in nanoseconds.
    var answerDuration: Int?
    /// The server's own word for the reason, if `doneReason` has no equivalent.
    var finishReason: String?
    /// The sequence of the request at which the model stopped, if the server names it.
    var stopSequence: String?
    /// Whether the text is a refusal.
    var isRefusal = false
}

extension AnswerLineWriter {
    /// Appends the last line; `total` is the time of the whole answer, in nanoseconds.
    func append(_ end: AnswerEnd, total: Int, at nanoseconds: Int64, to buffer: inout ByteBuffer) {
        appendOpening(at: nanoseconds, to: &buffer)
        buffer.append("\"content\":\"\"},\"done\":true,\"done_reason\":")
        buffer.append(jsonString: end.doneReason)
        let numbers: [(StaticString, Int?)] = [
            ("total_duration", total), ("prompt_eval_count", end.promptTokens),
            ("prompt_eval_duration", end.promptDuration), ("eval_count", end.answerTokens),
            ("eval_duration", end.answerDuration),
        ]
        for case (let name, let number?) in numbers {
            buffer.append(",\"")
            buffer.append(name)
            buffer.append("\":")
            buffer.append(decimal: number)
        }
        if let reason = end.finishReason {
            buffer.append(",\"finish_reason\":")
            buffer.append(jsonString: reason)
        }
        if let sequence = end.stopSequence {
            buffer.append(",\"stop_reason\":")
            buffer.append(jsonString: sequence)
        }
        if end.isRefusal {
            buffer.append(",\"refusal\":true")
        }
        buffer.append(UInt8(ascii: "}"))
    }
}
