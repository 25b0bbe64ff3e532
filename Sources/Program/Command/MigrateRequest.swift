import ChatterdBasics
import ChatterdConfiguration

/// What `chatterd migrate` does.
public struct MigrateRequest: Sendable, Equatable {
    /// Whether contractions run too.
    public var contracts = false
    /// Whether it only says what it would do.
    public var isDryRun = false

    public init() {}

    /// Reads the arguments after the name of the command.
    init(arguments: ArraySlice<String>) throws(UsageError) {
        for argument in arguments {
            switch argument {
            case "--contract": contracts = true
            case "--dry-run": isDryRun = true
            default:
                throw UsageError(
                    "migrate takes --dry-run and --contract only, not \"\(SettingText.excerpt(argument))\"")
            }
        }
    }
}
