import ChatterdBasics

/// An entered line: a command of a conversation, or a prompt.
enum SessionCommand: Equatable {
    case prompt(String)
    case model(String?)
    case system(String?)
    case new
    case list
    case open(String)
    case retry(model: String?)
    case edit
    case history
    case servers
    case help
    case quit
    /// An empty line.
    case none
    /// A command that does not exist, or lacks its argument: a sentence.
    case wrong(String)

    /// Reads a text. A line that begins with a slash is a command, and with two a prompt that begins with one. Several lines are a prompt, but for
    /// `/system`.
    init(_ text: String) {
        let line = text.trimmed
        guard !line.contains("\n") || line.hasPrefix("/system ") else {
            self = .prompt(text.trimmedLines)
            return
        }
        guard line.hasPrefix("/"), !line.hasPrefix("//") else {
            self = line.isEmpty ? .none : .prompt(line.hasPrefix("//") ? String(line.dropFirst()) : line)
            return
        }
        let name = line.prefix { !$0.isWhitespace }
        let rest = String(line.dropFirst(name.count)).trimmed
        let argument = rest.isEmpty ? nil : rest
        switch name {
        case "/model": self = .model(argument)
        case "/system": self = .system(argument)
        case "/new": self = .new
        case "/list": self = .list
        case "/open": self = argument.map { .open($0) } ?? .wrong("/open needs a number of /list or a name")
        case "/retry": self = .retry(model: argument)
        case "/edit": self = .edit
        case "/history": self = .history
        case "/servers": self = .servers
        case "/help", "/?": self = .help
        case "/quit", "/exit": self = .quit
        default: self = .wrong("there is no command \(name): see /help")
        }
    }

    /// The text of `/help`.
    static let helpText: ConsoleText = """
        /model [NAME]     show or change the model
        /system [TEXT]    show or set the system prompt; it goes with the next prompt
        /new              begin a new conversation
        /list             list conversations
        /open N|NAME      continue one of them
        /retry [MODEL]    ask for another answer to the last prompt
        /edit             edit the last prompt, and continue from there on a new branch
        /history          show the messages of this conversation
        /servers          list model servers and models
        /quit             end; so does Ctrl-D, or Ctrl-C twice

        Ctrl-C stops an answer. Pasted lines are one prompt, and so are a line that ends with \\ and the next one, and
        the lines between \""" and \""". //text is a prompt that begins with a slash.
        """
}

extension String {
    /// The text without empty lines and white space at its ends. The first of several lines keeps its indentation.
    var trimmedLines: String {
        let text = trimmed
        guard text.contains("\n"), let start = firstIndex(where: { !$0.isWhitespace }) else { return text }
        let indentation = self[..<start].reversed().prefix { !$0.isNewline }.reversed()
        return String(indentation) + text
    }

    /// The text without white space at its ends.
    var trimmed: String {
        guard let first = firstIndex(where: { !$0.isWhitespace }), let last = lastIndex(where: { !$0.isWhitespace })
        else { return "" }
        return String(self[first...last])
    }
}
