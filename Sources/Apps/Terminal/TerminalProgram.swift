import ChatterClient
import ChatterdBasics
import Glibc

/// The program `chatter`.
public enum TerminalProgram {
    /// The version of the program.
    static let version = "0.2.0"

    /// Runs the command of the arguments, and exits with its status. Call it on the first thread of the process.
    public static func main(_ arguments: [String], environment: [String: String]) -> Never {
        Task.detached { exit(await run(arguments, environment: environment)) }
        FirstThread.shared.serve()
    }

    private static func run(_ arguments: [String], environment: [String: String]) async -> Int32 {
        // A broken connection or pipe is an error of its call, and does not end the program by a signal.
        signal(SIGPIPE, SIG_IGN)
        let command: TerminalCommand
        let parsed: ParsedArguments
        let settings: TerminalEnvironment
        do throws(UsageError) {
            parsed = try ParsedArguments(
                arguments.first.map { ["-v", "--version"].contains($0) } == true ? ["version"] : arguments)
            command = try TerminalCommand(parsed)
            settings = try TerminalEnvironment(
                environment, url: parsed.value(CommandOption.url.name), app: parsed.value(CommandOption.app.name))
        } catch {
            Console.live(hasNoColor: true).report("\(error)\nchatter --help lists the commands")
            return ExitCode.usage.rawValue
        }
        let console = Console.live(hasNoColor: settings.hasNoColor)
        do throws(ChatterError) {
            return try await run(command, settings, console).rawValue
        } catch {
            console.report(error)
            return ExitCode(error).rawValue
        }
    }

    private static func run(
        _ command: TerminalCommand, _ settings: TerminalEnvironment, _ console: Console
    ) async throws(ChatterError) -> ExitCode {
        switch command {
        case .help(let entry):
            console.write(foreign: (entry.map(CommandHelp.text) ?? CommandHelp.program) + "\n")
            return .done
        case .completions(let shell):
            console.write(foreign: shell.completions + "\n")
            return .done
        default: break
        }
        let client = try ChatterClient(
            url: settings.url, credential: settings.credential, retries: settings.retries)
        switch command {
        case .help, .completions: return .done
        case .version:
            console.writeLine("chatter \(version)")
            let server = try await client.serverVersion()
            console.writeLine("\(server) at \(settings.url)")
            return .done
        case .converse(let options): return await converse(options, client, settings, console)
        case .ask(let options):
            let command = AskCommand(client: client, console: console, options: options, model: settings.model)
            return try await command.run(input: isatty(0) == 1 ? nil : readInput())
        case .list(let archived, let limit, let form):
            try await ConversationsTable(client, console, form).show(limit: limit, archived ? .archived : .active)
            return .done
        case .search(let text, let limit, let form):
            try await ConversationsTable(client, console, form).show(limit: limit, .all, having: text)
            return .done
        case .watch(let conversation, let last):
            try await WatchCommand(client: client, console: console, conversation: conversation).run(last: last)
            return .done
        case .export(let conversation):
            return try await ConversationFile(client: client, console: console).export(conversation)
        case .importFile(let path, let name):
            return try await ConversationFile(client: client, console: console).importFile(path, as: name)
        case .servers(let action, let json):
            return try await AdministrationCommands(client: client, console: console).run(action, json: json)
        case .keys(let action, let json):
            return try await AdministrationCommands(client: client, console: console).run(action, json: json)
        }
    }

    private static func converse(
        _ options: TerminalCommand.ConversationOptions, _ client: ChatterClient, _ settings: TerminalEnvironment,
        _ console: Console
    ) async -> ExitCode {
        guard isatty(0) == 1, isatty(1) == 1 else {
            console.report("a conversation needs a terminal; in pipes use chatter ask")
            return .usage
        }
        guard let editor = await LineEditor(historyPath: settings.historyPath) else {
            console.report("the terminal cannot be used")
            return .failed
        }
        let session = ConversationSession(
            client: client, console: console, editor: editor, model: options.model ?? settings.model,
            system: options.system)
        // Ctrl-C between an answer and the next prompt does not end the program.
        return await Interrupts.shared.handling({}) { await session.run(continuing: options.conversation) }
    }

    /// All of standard input.
    private static func readInput() -> String {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = read(0, &piece, piece.count)
            if count > 0 {
                bytes += piece.prefix(count)
            } else if count == 0 || errno != EINTR {
                return String(decoding: bytes, as: UTF8.self)
            }
        }
    }
}
