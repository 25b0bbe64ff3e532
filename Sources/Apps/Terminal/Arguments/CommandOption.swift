/// An option of a command.
struct CommandOption: Sendable, Equatable {
    /// The long name, with its hyphens.
    let name: String
    /// A short name.
    let short: String?
    /// The name of its value in the help; `nil` for an option without one.
    let value: String?
    let summary: String

    init(_ name: String, short: String? = nil, value: String? = nil, _ summary: String) {
        self.name = name
        self.short = short
        self.value = value
        self.summary = summary
    }

    static let help = CommandOption("--help", short: "-h", "print this help")
    static let url = CommandOption("--url", value: "URL", "the server, instead of CHATTER_URL")
    static let app = CommandOption("--app", value: "NAME", "the app in open mode, instead of CHATTER_APP")
    static let model = CommandOption(
        "--model", short: "-m", value: "MODEL", "the model; default: CHATTER_MODEL, or the server's")
    static let system = CommandOption("--system", short: "-s", value: "TEXT", "a system prompt")
    static let json = CommandOption("--json", "print JSON, one object a line")

    /// The options of every command.
    static let common = [url, app, help]
}
