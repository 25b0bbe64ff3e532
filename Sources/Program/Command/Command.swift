import ChatterdBasics
import ChatterdConfiguration

/// A command of the program.
public enum Command: Sendable, Equatable {
    /// Serves; with `isDevelopment`, with a private PostgreSQL if no database is named.
    case serve(isDevelopment: Bool)
    /// Brings the database's schema up to date.
    case migrate(MigrateRequest)
    /// Checks everything that serving needs, and explains failures.
    case doctor(DoctorRequest)
    /// Makes, lists, revokes or replaces keys of apps.
    case keys(KeysRequest)
    /// Lists the tools of the server, or calls one of them.
    case tools(ToolsRequest)
    /// Asks the local server whether it is alive, or, with `isReadiness`, whether it accepts prompts.
    case health(isReadiness: Bool)
    /// Prints the version.
    case version
    /// Prints help.
    case help(Topic)

    /// A topic of help.
    public enum Topic: Sendable, Equatable, CaseIterable {
        case commands
        case limits
        /// All variables.
        case variables
    }

    /// Reads the arguments that follow the program's name.
    ///
    /// - Throws: an error that says which argument is wrong.
    public init(arguments: [String]) throws(UsageError) {
        guard let name = arguments.first else { throw UsageError("a command is missing") }
        let rest = arguments.dropFirst()
        switch name {
        case "-h", "--help": self = .help(.commands)
        case "-v", "--version": self = .version
        case _ where rest.contains { $0 == "-h" || $0 == "--help" }: self = .help(.commands)
        case "help": self = .help(try Self.topic(rest))
        case "serve": self = .serve(isDevelopment: try Self.has("--dev", name, rest))
        case "migrate": self = .migrate(try MigrateRequest(arguments: rest))
        case "doctor": self = .doctor(try DoctorRequest(arguments: rest))
        case "keys": self = .keys(try KeysRequest(arguments: rest))
        case "tools": self = .tools(try ToolsRequest(arguments: rest))
        case "health": self = .health(isReadiness: try Self.has("--ready", name, rest))
        case "version": self = try Self.alone(.version, name, rest)
        default: throw UsageError("there is no command \"\(SettingText.excerpt(name))\"")
        }
    }

    private static func alone(
        _ command: Command, _ name: String, _ rest: ArraySlice<String>
    ) throws(UsageError) -> Command {
        if let extra = rest.first {
            throw UsageError("\(name) takes no \"\(SettingText.excerpt(extra))\"")
        }
        return command
    }

    /// Whether the only option of a command is present.
    private static func has(
        _ option: String, _ command: String, _ rest: ArraySlice<String>
    ) throws(UsageError) -> Bool {
        for argument in rest where argument != option {
            throw UsageError("\(command) takes \(option) only, not \"\(SettingText.excerpt(argument))\"")
        }
        return !rest.isEmpty
    }

    private static func topic(_ rest: ArraySlice<String>) throws(UsageError) -> Topic {
        switch (rest.first, rest.count) {
        case (nil, _): return .commands
        case ("limits", 1): return .limits
        case ("variables", 1): return .variables
        default:
            throw UsageError(
                "there is no help on \"\(SettingText.excerpt(rest.joined(separator: " ")))\", only on limits and variables"
            )
        }
    }
}
