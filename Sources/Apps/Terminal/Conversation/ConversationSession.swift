import ChatterClient
import ChatterdBasics

/// A conversation in the terminal: reads lines, sends prompts, shows answers.
actor ConversationSession {
    /// The number of conversations that `/list` shows.
    private static let listLength = 20
    /// The number of messages that `/history` and `/open` read.
    private static let historyLength = 200

    private let client: ChatterClient
    private let console: Console
    private let editor: LineEditor
    private var model: String?
    /// The system prompt that goes with the next prompt.
    private var system: String?
    /// The name of the conversation; `nil` before the first prompt of a new one.
    private var conversation: String?
    /// The last turn; `nil` in a new conversation.
    private var lastTurn: Turn?
    /// The conversations of the last `/list`.
    private var listed: [String] = []

    init(
        client: ChatterClient, console: Console, editor: LineEditor, model: String?, system: String?
    ) {
        self.client = client
        self.console = console
        self.editor = editor
        self.model = model
        self.system = system
    }

    /// Runs the conversation until the user ends it.
    ///
    /// - Parameter name: the conversation to continue; `nil` for a new one.
    func run(continuing name: String?) async -> ExitCode {
        do throws(ChatterError) {
            if let name {
                try await open(name)
            } else {
                try await greet()
            }
        } catch {
            console.report(error)
            return ExitCode(error)
        }
        var hasInterrupted = false
        while true {
            switch await readCommand() {
            case .end:
                leave()
                return .done
            case .interrupt:
                guard !hasInterrupted else {
                    leave()
                    return .done
                }
                console.writeLine("^C  (again, or Ctrl-D, to end)", .dim)
                hasInterrupted = true
            case .command(let command, let text):
                hasInterrupted = false
                if command != .none {
                    await editor.remember(text)
                }
                guard command != .quit else {
                    leave()
                    return .done
                }
                if let error = await result(of: command) {
                    console.report(error)
                }
            }
        }
    }

    // MARK: - Lines

    private enum Input {
        /// A command or a prompt, with the text that the history keeps.
        case command(SessionCommand, text: String)
        case interrupt
        case end
    }

    /// Reads a prompt or a command: a line with its continuations, pasted lines, or the lines between two `"""`.
    private func readCommand() async -> Input {
        var input = SessionInput()
        while true {
            switch await editor.read(prompt: input.isEmpty ? "> " : ". ") {
            case .interrupt: return .interrupt
            case .end: return .end
            case .line(let line):
                guard let command = input.add(line) else { continue }
                if case .prompt(let text) = command, text.contains("\n") {
                    return .command(command, text: text)
                }
                return .command(command, text: line)
            }
        }
    }

    /// Performs a command, which Ctrl-C ends. Returns its error.
    private func result(of command: SessionCommand) async -> ChatterError? {
        let task = Task { () async -> ChatterError? in
            do throws(ChatterError) {
                try await perform(command)
                return nil
            } catch {
                return error
            }
        }
        return await Interrupts.shared.handling({ task.cancel() }) { await task.value }
    }

    private func perform(_ command: SessionCommand) async throws(ChatterError) {
        switch command {
        case .none, .quit: break
        case .prompt(let text): try await ask(text, after: nil)
        case .model(let name): try await selectModel(name)
        case .system(let text): setSystem(text)
        case .new:
            conversation = nil
            lastTurn = nil
            console.writeLine("A new conversation begins with the next prompt.", .dim)
        case .list: try await list()
        case .open(let name): try await open(name)
        case .retry(let model): try await retry(model)
        case .edit: try await edit()
        case .history: try await showHistory()
        case .servers: try await ModelServersTable(client, console).show()
        case .help: console.writeLine(SessionCommand.helpText)
        case .wrong(let text): console.report(text)
        }
    }

    private func greet() async throws(ChatterError) {
        let models = try await client.models().models
        guard !models.isEmpty else {
            console.note("This server has no model: an administrator adds one with chatter servers add.", .yellow)
            return
        }
        console.writeLine("\(model ?? "the server's model"), \(client.address). /help lists the commands.", .dim)
    }

    private func leave() {
        console.writeLine()
        if let conversation {
            console.writeLine("Continue with: chatter -c \(ShellWord.quoted(conversation))", .dim)
        }
    }

    // MARK: - Prompts

    /// Sends a prompt, on a new branch if `parent` is not `nil`.
    private func ask(_ text: String, after parent: Prompt.Parent?) async throws(ChatterError) {
        let name = conversation ?? Conversation.randomName()
        conversation = name
        var messages = [PromptMessage(text)]
        if let system {
            messages.insert(PromptMessage(system, role: "system"), at: 0)
        }
        let follows = parent ?? lastTurn?.reply.map { .reply($0) } ?? .start
        var prompt = Prompt(messages: messages, in: name, model: model, parent: parent)
        prompt.onInterrupt = .regenerate
        prompt.usesTools = true
        var answer = await show(client.answer(to: prompt))
        if model == nil, answer.reply == nil, case .failed(let error) = answer.outcome, error.lacksModel,
            let first = try await client.models().models.first
        {
            console.writeLine("The server has no default model: this conversation uses \(first.name).", .dim)
            model = first.name
            prompt.model = model
            answer = await show(client.answer(to: prompt))
        }
        if answer.reply != nil {
            system = nil
            lastTurn = Turn(prompt: text, parent: follows, reply: answer.reply)
        }
        report(answer)
    }

    private func retry(_ model: String?) async throws(ChatterError) {
        guard let reply = lastTurn?.reply else {
            console.report("there is no answer to repeat")
            return
        }
        let answer = await show(client.regenerate(reply, model: model ?? self.model, onInterrupt: .regenerate))
        if let reply = answer.reply {
            lastTurn?.reply = reply
        }
        report(answer)
    }

    private func edit() async throws(ChatterError) {
        guard let turn = lastTurn else {
            console.report("there is no prompt to edit")
            return
        }
        guard case .line(let line) = await editor.read(prompt: "> ", initial: turn.prompt), !line.trimmed.isEmpty else {
            console.writeLine()
            return
        }
        await editor.remember(line)
        try await ask(line.trimmedLines, after: turn.parent)
    }

    private func show(
        _ events: AsyncThrowingStream<ReplyEvent, any Error>, of reply: ReplyID? = nil
    ) async -> AnswerReader.Answer {
        var printer = TextPrinter(console, showsThinking: true)
        let answer = await AnswerReader(client: client).read(events, &printer, of: reply) { [self] step, reply in
            await ask(about: step, of: reply)
        }
        if case .failed(let error) = answer.outcome, !(model == nil && error.lacksModel) {
            printer.fail(error)
        }
        return answer
    }

    /// Asks whether a call may be made. Ctrl-C stops the answer; an end of the input leaves the call to another device.
    private func ask(about step: ToolStep, of reply: ReplyID) async {
        do throws(ChatterError) {
            while true {
                switch await editor.read(prompt: "run \(step.name.neutralised)? [y/n] ") {
                case .line(let line):
                    guard let isApproved = ["y": true, "yes": true, "n": false, "no": false][line.trimmed.lowercased()]
                    else { continue }
                    return try await client.answer(step, of: reply, isApproved: isApproved)
                case .interrupt:
                    try await client.stop(reply)
                    return
                case .end: return
                }
            }
        } catch {
            // Another device may have answered meanwhile.
            console.report(error)
        }
    }

    private func report(_ answer: AnswerReader.Answer) {
        switch answer.outcome {
        case .finished: break
        case .stopped: console.writeLine()
        case .failed(let error):
            if error.isRetryable, answer.reply != nil {
                console.note("/retry asks again", .dim)
            }
        }
    }

    // MARK: - Commands

    private func selectModel(_ name: String?) async throws(ChatterError) {
        let models = try await client.models().models.map(\.name)
        guard let name else {
            console.writeLine("model: \(model ?? "the server's default")")
            for name in models {
                console.write(foreign: "  \(name)\n")
            }
            return
        }
        guard models.contains(name) || name.contains("/") else {
            console.report("there is no model \"\(name)\"; /model lists them")
            return
        }
        model = name
        console.write(foreign: "model: \(name)\n", .dim)
    }

    private func setSystem(_ text: String?) {
        guard let text else {
            console.writeLine(system.map { "goes with the next prompt: \($0)" } ?? "no system prompt is waiting")
            return
        }
        system = text
        console.writeLine("It goes with the next prompt.", .dim)
    }

    private func list() async throws(ChatterError) {
        let page = try await client.conversations(limit: Self.listLength)
        listed = page.conversations.map(\.name)
        guard !listed.isEmpty else {
            console.writeLine("There is no conversation yet.", .dim)
            return
        }
        var table = Table()
        for (index, conversation) in page.conversations.enumerated() {
            let mark = conversation.name == self.conversation ? "*" : ""
            table.add(
                "\(index + 1)\(mark)", conversation.updatedAt.localText, conversation.name, conversation.title ?? "")
        }
        for line in table.lines {
            console.write(foreign: line + "\n")
        }
    }

    private func open(_ choice: String) async throws(ChatterError) {
        let name =
            Int(choice).flatMap { 1...max(listed.count, 1) ~= $0 && !listed.isEmpty ? listed[$0 - 1] : nil } ?? choice
        let page = try await client.messages(of: name, limit: Self.historyLength)
        conversation = page.conversation
        lastTurn = Turn.last(in: page.messages)
        console.write(foreign: "\(page.title ?? page.conversation)\n", .bold)
        show(page.messages.filter(\.active).suffix(4))
        if let running = page.messages.last(where: { $0.state == .streaming })?.id {
            report(await show(client.events(of: running), of: running))
        }
    }

    private func showHistory() async throws(ChatterError) {
        guard let conversation else {
            console.writeLine("This conversation has no messages yet.", .dim)
            return
        }
        let page = try await client.messages(of: conversation, limit: Self.historyLength)
        if page.moreBefore {
            console.writeLine("… earlier messages: chatter export -- \(ShellWord.quoted(conversation))", .dim)
        }
        show(page.messages.filter(\.active)[...])
    }

    private func show(_ messages: ArraySlice<Message>) {
        for message in messages where message.state != .streaming {
            MessageText(message).write(to: console)
        }
    }
}
