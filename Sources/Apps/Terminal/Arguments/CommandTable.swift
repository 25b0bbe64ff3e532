/// All commands of the program.
enum CommandTable {
    /// The program without a command.
    static let conversation = CommandEntry(
        "", "", .none, "have a conversation in this terminal",
        options: [
            CommandOption("--conversation", short: "-c", value: "NAME", "continue this conversation"),
            .model, .system,
        ],
        notes: [
            "Ctrl-C stops an answer. Ctrl-D, or Ctrl-C twice at the prompt, ends the program. A line that ends with \\ is",
            "continued on the next one. /help lists the commands of a conversation.",
        ])

    static let entries = [
        CommandEntry(
            "ask", "[TEXT…]", .text, "ask once, and print the answer",
            options: [
                .model, .system,
                CommandOption(
                    "--conversation", short: "-c", value: "NAME", "continue this conversation; default: a new one"),
                .json,
                CommandOption("--thinking", "print the model's thinking to standard error"),
                CommandOption("--delete", "delete the new conversation afterwards"),
            ],
            notes: [
                "Standard input, if it is not a terminal, follows the text as context; without a text it is the prompt. Ctrl-C",
                "stops the answer. With --json each event is a line; the last one is \"finished\" or \"error\".",
            ]),
        CommandEntry(
            "list", "", .none, "list the conversations, the newest change first",
            options: [
                CommandOption("--archived", "list archived ones instead"),
                CommandOption("--limit", short: "-n", value: "N", "the number of conversations; default: 20"), .json,
                CommandOption("--names", "print the names only"),
            ]),
        CommandEntry(
            "search", "TEXT…", .text, "find conversations whose title or messages have a text",
            options: [
                CommandOption("--limit", short: "-n", value: "N", "the number of conversations; default: 20"), .json,
            ]),
        CommandEntry(
            "watch", "CONVERSATION", .conversation, "show a conversation as it changes: a second screen",
            options: [
                CommandOption("--last", short: "-n", value: "N", "the number of earlier messages to show; default: 10")
            ],
            notes: ["It reads prompts and answers of any device until Ctrl-C."]),
        CommandEntry(
            "export", "CONVERSATION", .conversation, "write a conversation to standard output, as lines of JSON"),
        CommandEntry(
            "import", "FILE [NAME]", .file, "store an exported file as a new conversation",
            notes: ["FILE may be - for standard input. Without NAME the name is that in the file."]),
        CommandEntry(
            "servers", "[list | test NAME | add NAME KIND URL | remove NAME]",
            .oneOf(["list", "test", "add", "remove"]), "list the model servers and their models, or change the list",
            options: [.model, .json],
            notes: ["All but list need an administrator's key. KIND is ollama, openai or llamastack."]),
        CommandEntry(
            "keys", "[list | create | revoke ID | rotate ID]", .oneOf(["list", "create", "revoke", "rotate"]),
            "list, make, end and replace keys of apps",
            options: [
                CommandOption("--for", value: "APP", "the app whose keys are listed or made"),
                CommandOption("--label", value: "TEXT", "a note about a new key"),
                CommandOption("--scopes", value: "LIST", "chat,read,tokens,admin; default: the first three"),
                CommandOption("--models", value: "LIST", "the models that a new key permits; default: all"),
                CommandOption("--expires", value: "TIME", "the lifetime of a new key, such as 30d; default: no end"),
                CommandOption("--requests-per-minute", value: "N", "a limit of a new key; default: none"),
                CommandOption("--tokens-per-day", value: "N", "a limit of a new key; default: none"),
                CommandOption("--concurrent-replies", value: "N", "a limit of a new key; default: none"),
                CommandOption("--overlap", value: "TIME", "how long a rotated key stays valid; default: 1d"), .json,
            ], notes: ["An administrator's key is needed. A new key is printed once, alone on the last line."]),
        CommandEntry(
            "completions", "bash|zsh|fish", .oneOf(["bash", "zsh", "fish"]),
            "print the completions of a shell: source <(chatter completions bash)"),
        CommandEntry("version", "", .none, "print the versions of this program and of the server"),
        CommandEntry("help", "[COMMAND]", .text, "print help, on a command too"),
    ]

    static func entry(_ name: String) -> CommandEntry? { entries.first { $0.name == name } }
}
