import ChatterClient
import ChatterdBasics

/// The command `ask`: one prompt, one answer, an exit code.
struct AskCommand {
    let client: ChatterClient
    let console: Console
    let options: TerminalCommand.AskOptions
    /// The model if the options name none.
    let model: String?

    /// Asks. `input` is standard input, if it is no terminal.
    func run(input: String?) async throws(ChatterError) -> ExitCode {
        let text = [options.text, input ?? ""].map(\.trimmedLineEnds).filter { !$0.isEmpty }.joined(separator: "\n\n")
        guard !text.trimmed.isEmpty else {
            console.report("ask needs a text, as an argument or on standard input")
            return .usage
        }
        let name = options.conversation ?? Conversation.randomName()
        let code = try await ask(text, in: name)
        if options.isDeleted {
            try await client.delete(name)
        }
        return code
    }

    private func ask(_ text: String, in name: String) async throws(ChatterError) -> ExitCode {
        var messages = [PromptMessage(text)]
        if let system = options.system {
            messages.insert(PromptMessage(system, role: "system"), at: 0)
        }
        var prompt = Prompt(messages: messages, in: name, model: options.model ?? model)
        var answer = await show(prompt)
        if prompt.model == nil, answer.reply == nil, case .failed(let error) = answer.outcome, error.lacksModel {
            prompt.model = try await client.models().models.first?.name
            answer = await show(prompt)
        }
        return answer.outcome.exitCode
    }

    private func show(_ prompt: Prompt) async -> AnswerReader.Answer {
        if options.isJSON {
            await read(prompt, JSONPrinter(console, conversation: prompt.conversation))
        } else {
            await read(prompt, TextPrinter(console, showsThinking: options.showsThinking))
        }
    }

    private func read(_ prompt: Prompt, _ printer: some AnswerPrinter) async -> AnswerReader.Answer {
        var printer = printer
        let answer = await AnswerReader(client: client).read(client.answer(to: prompt), &printer)
        if case .failed(let error) = answer.outcome, !(prompt.model == nil && error.lacksModel) {
            printer.fail(error)
        }
        return answer
    }
}

extension ChatterError {
    /// Whether the prompt named no model, and the server has no default.
    var lacksModel: Bool {
        if case .rejected(let error) = self {
            error.code == "invalid_request" && error.message.contains("model")
        } else {
            false
        }
    }
}

extension String {
    /// The text without line ends at its end.
    fileprivate var trimmedLineEnds: String {
        guard let last = lastIndex(where: { !$0.isNewline }) else { return "" }
        return String(self[...last])
    }
}
