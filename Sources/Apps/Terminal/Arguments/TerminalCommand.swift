import ChatterClient
import ChatterdBasics

/// A command of the program, with its arguments.
enum TerminalCommand: Equatable {
    case converse(ConversationOptions)
    case ask(AskOptions)
    case list(archived: Bool, limit: Int, ListForm)
    case search(String, limit: Int, ListForm)
    case watch(String, last: Int)
    case export(String)
    case importFile(String, name: String?)
    case servers(ServersAction, json: Bool)
    case keys(KeysAction, json: Bool)
    case completions(Shell)
    case version
    case help(CommandEntry?)

    /// The form of a list.
    enum ListForm: Equatable {
        case table
        case json
        /// One name a line.
        case names
    }

    /// The options of a conversation.
    struct ConversationOptions: Equatable {
        var conversation: String?
        var model: String?
        var system: String?
    }

    /// The options of one question.
    struct AskOptions: Equatable {
        var text = ""
        var conversation: String?
        var model: String?
        var system: String?
        var isJSON = false
        var showsThinking = false
        var isDeleted = false
    }

    /// An action on model servers.
    enum ServersAction: Equatable {
        case list
        case test(String, model: String?)
        case add(name: String, kind: String, url: String)
        case remove(String)
    }

    /// An action on keys.
    enum KeysAction: Equatable {
        case list(app: String?)
        case create(KeyProperties)
        case revoke(String)
        case rotate(String, overlap: Duration?)
    }

    /// Chooses the command of checked arguments.
    init(_ parsed: ParsedArguments) throws(UsageError) {
        self = try Self.command(parsed)
    }

    private static func command(_ parsed: ParsedArguments) throws(UsageError) -> TerminalCommand {
        let entry = parsed.entry
        guard !parsed.has(.help) else { return .help(entry.name.isEmpty ? nil : entry) }
        let json = parsed.has(.json)
        switch entry.name {
        case "":
            return .converse(
                ConversationOptions(
                    conversation: parsed.value("--conversation"), model: parsed.value("--model"),
                    system: parsed.value("--system")))
        case "ask": return .ask(try ask(parsed))
        case "list":
            return .list(
                archived: parsed.has("--archived"), limit: try parsed.number("--limit", upTo: 10_000) ?? 20,
                json ? .json : parsed.has("--names") ? .names : .table)
        case "search":
            guard !parsed.words.isEmpty else { throw UsageError("search needs a text") }
            return .search(
                parsed.words.joined(separator: " "), limit: try parsed.number("--limit", upTo: 10_000) ?? 20,
                json ? .json : .table)
        case "watch":
            return .watch(try only(parsed, "a conversation"), last: try parsed.number("--last", upTo: 200) ?? 10)
        case "export": return .export(try only(parsed, "a conversation"))
        case "import":
            guard 1...2 ~= parsed.words.count else { throw UsageError("import needs a file, and may have a name") }
            return .importFile(parsed.words[0], name: parsed.words.dropFirst().first)
        case "servers": return .servers(try servers(parsed), json: json)
        case "keys": return .keys(try keys(parsed), json: json)
        case "completions":
            guard let shell = Shell(rawValue: try only(parsed, "a shell")) else {
                throw UsageError("completions are there for bash, zsh and fish")
            }
            return .completions(shell)
        case "version": return .version
        default:
            guard let name = parsed.words.first else { return .help(nil) }
            guard let topic = CommandTable.entry(name) else { throw UsageError("there is no command \"\(name)\"") }
            return .help(topic)
        }
    }

    private static func ask(_ parsed: ParsedArguments) throws(UsageError) -> AskOptions {
        guard !parsed.has("--delete") || !parsed.has("--conversation") else {
            throw UsageError("--delete is for a new conversation, not for --conversation")
        }
        return AskOptions(
            text: parsed.words.joined(separator: " "), conversation: parsed.value("--conversation"),
            model: parsed.value("--model"), system: parsed.value("--system"), isJSON: parsed.has(.json),
            showsThinking: parsed.has("--thinking"), isDeleted: parsed.has("--delete"))
    }

    private static func servers(_ parsed: ParsedArguments) throws(UsageError) -> ServersAction {
        let words = parsed.words
        switch (words.first, words.count) {
        case (nil, _), ("list", 1): return .list
        case ("test", 2): return .test(words[1], model: parsed.value("--model"))
        case ("add", 4): return .add(name: words[1], kind: words[2], url: words[3])
        case ("remove", 2): return .remove(words[1])
        default: throw UsageError("servers takes: list, test NAME, add NAME KIND URL, or remove NAME")
        }
    }

    private static func keys(_ parsed: ParsedArguments) throws(UsageError) -> KeysAction {
        let words = parsed.words
        // The server has its own limits of these numbers.
        let limit = 1_000_000_000
        switch (words.first, words.count) {
        case (nil, _), ("list", 1): return .list(app: parsed.value("--for"))
        case ("create", 1):
            guard let app = parsed.value("--for") else { throw UsageError("keys create needs --for APP") }
            var properties = KeyProperties(app: app)
            properties.label = parsed.value("--label")
            properties.scopes = parsed.list("--scopes")
            properties.models = parsed.list("--models")
            properties.expiresIn = try parsed.seconds("--expires")
            properties.requestsPerMinute = try parsed.number("--requests-per-minute", upTo: limit)
            properties.tokensPerDay = try parsed.number("--tokens-per-day", upTo: limit)
            properties.concurrentReplies = try parsed.number("--concurrent-replies", upTo: limit)
            return .create(properties)
        case ("revoke", 2): return .revoke(words[1])
        case ("rotate", 2):
            return .rotate(words[1], overlap: try parsed.seconds("--overlap").map { .seconds($0) })
        default: throw UsageError("keys takes: list, create, revoke ID, or rotate ID")
        }
    }

    private static func only(_ parsed: ParsedArguments, _ what: String) throws(UsageError) -> String {
        guard parsed.words.count == 1 else { throw UsageError("\(parsed.entry.name) needs \(what), and nothing else") }
        return parsed.words[0]
    }
}
