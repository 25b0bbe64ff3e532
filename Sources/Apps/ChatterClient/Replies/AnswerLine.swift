/// The data of an event of a reply.
struct AnswerLine: Decodable {
    struct Message: Decodable {
        let content: String?
        let thinking: String?
        let toolCalls: [ToolCall]?
    }

    let message: Message?
    let done: Bool?
    let model: String?
    let doneReason: String?
    /// The word of the model server, if `doneReason` has no equivalent.
    let finishReason: String?
    let refusal: Bool?
    let promptEvalCount: LenientCount?
    let evalCount: LenientCount?
    let state: ReplyState?
    let queue: QueuePosition?

    /// The events of the line, in the order in which a model makes them.
    var events: [ReplyEvent] {
        var events: [ReplyEvent] = []
        if let thinking = message?.thinking, !thinking.isEmpty {
            events.append(.thinking(thinking))
        }
        if let text = message?.content, !text.isEmpty {
            events.append(.text(text))
        }
        if let calls = message?.toolCalls, !calls.isEmpty {
            events.append(.toolCalls(calls))
        }
        if done == true {
            events.append(
                .finished(
                    ReplyStatistics(
                        model: model ?? "", reason: finishReason ?? doneReason, promptTokens: promptEvalCount?.value,
                        answerTokens: evalCount?.value, wasStopped: state == .cancelled, isRefusal: refusal ?? false)))
        }
        return events
    }
}
