import ChatterClient

/// Writes each event of an answer as a JSON object on a line: docs/terminal.md.
struct JSONPrinter: AnswerPrinter {
    private let console: Console
    private let conversation: String?

    init(_ console: Console, conversation: String?) {
        self.console = console
        self.conversation = conversation
    }

    func show(_ event: ReplyEvent) {
        switch event {
        case .started(let id):
            write("started", ["reply": .string(id.text), "conversation": conversation.map { .string($0) }])
        case .text(let text): write("text", ["text": .string(text)])
        case .thinking(let text): write("thinking", ["text": .string(text)])
        case .toolCalls(let calls):
            let calls = calls.map { call in
                Self.object([
                    "id": call.id.map { .string($0) }, "name": .string(call.function.name),
                    "arguments": call.function.arguments,
                ])
            }
            write("tool_calls", ["calls": .array(calls)])
        case .step(let step):
            write(
                "step",
                [
                    "round": .integer(step.round), "index": .integer(step.index), "name": .string(step.name),
                    "arguments": step.arguments, "state": .string(step.state.rawValue),
                    "result": step.result.map { .string($0) },
                ])
        case .queued(let place):
            write(
                "queued",
                [
                    "upstream": .string(place.upstream), "position": .integer(place.position),
                    "length": .integer(place.length),
                ])
        case .reset: write("reset", [:])
        case .connectionLost(let error, let delay):
            write(
                "connection_lost",
                [
                    "error": .string(error.message), "code": .string(error.code),
                    "retry_after_ms": .integer(Int(delay / .milliseconds(1))),
                ])
        case .resumed: write("resumed", [:])
        case .finished(let end):
            write(
                "finished",
                [
                    "model": .string(end.model), "reason": end.reason.map { .string($0) },
                    "prompt_tokens": end.promptTokens.map { .integer($0) },
                    "answer_tokens": end.answerTokens.map { .integer($0) }, "stopped": .bool(end.wasStopped),
                ])
        }
    }

    func fail(_ error: ChatterError) {
        write(
            "error",
            [
                "error": .string(error.message), "code": .string(error.code), "retryable": .bool(error.isRetryable),
            ])
        console.report(error)
    }

    private func write(_ event: String, _ members: [String: JSONValue?]) {
        console.write(json: Self.object(members.merging(["event": .string(event)]) { $1 }).text + "\n")
    }

    private static func object(_ members: [String: JSONValue?]) -> JSONValue {
        .object(members.compactMapValues { $0 })
    }
}
