/// The texts of help, from the table of commands.
enum CommandHelp {
    /// The help on the program.
    static var program: String {
        var lines = ["usage: chatter [options]             \(CommandTable.conversation.summary)"]
        lines += CommandTable.entries.flatMap { entry in
            entryLines(
                "       chatter \(entry.name)\(entry.synopsis.isEmpty ? "" : " \(entry.synopsis)")", entry.summary)
        }
        lines += ["", "Options of a conversation:"] + options(CommandTable.conversation.options)
        lines += [""] + CommandTable.conversation.notes
        lines += ["", "Options of all commands:"] + options(CommandOption.common)
        lines += ["", "Environment:"] + environment.flatMap { entryLines("  \($0.name)", $0.meaning) }
        lines += ["", "Exit codes:"] + ExitCode.allCases.flatMap { entryLines("  \($0.rawValue)", $0.meaning) }
        return lines.joined(separator: "\n")
    }

    /// The help on a command.
    static func text(on entry: CommandEntry) -> String {
        var lines = [
            "usage: chatter \(entry.name) [options]\(entry.synopsis.isEmpty ? "" : " \(entry.synopsis)")", "",
            "\(entry.summary.prefix(1).uppercased())\(entry.summary.dropFirst()).",
        ]
        if !entry.notes.isEmpty {
            lines += entry.notes
        }
        lines += ["", "Options:"] + options(entry.options + CommandOption.common)
        return lines.joined(separator: "\n")
    }

    private static let environment: [(name: String, meaning: String)] = [
        ("CHATTER_URL", "the server; default: \(TerminalEnvironment.defaultURL)"),
        ("CHATTER_KEY", "a key of an app or a client token; not needed in open mode"),
        ("CHATTER_APP", "the name of the app in open mode; default: \(TerminalEnvironment.defaultApp)"),
        ("CHATTER_MODEL", "the model; default: the server's, else its first one"),
        ("CHATTER_RESUME_TIMEOUT", "how long a lost connection is resumed; default: 600s"),
        ("CHATTER_HISTORY", "the file of entered lines; empty for none; default: ~/.local/state/chatter/history"),
        ("NO_COLOR", "if set, no colours, also on a terminal"),
    ]

    private static func options(_ options: [CommandOption]) -> [String] {
        options.flatMap { option in
            let short = option.short.map { "\($0), " } ?? "    "
            return entryLines("  \(short)\(option.name)\(option.value.map { " \($0)" } ?? "")", option.summary)
        }
    }

    /// A term and its meaning, in two columns; below each other if the term is long.
    private static func entryLines(_ term: String, _ meaning: String) -> [String] {
        let column = 37
        guard term.count < column - 1 else { return [term, String(repeating: " ", count: column) + meaning] }
        return [term + String(repeating: " ", count: column - term.count) + meaning]
    }
}
