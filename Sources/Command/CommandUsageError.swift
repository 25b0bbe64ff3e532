/// Why arguments are not a command.
public struct CommandUsageError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The reason, in one sentence.
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}
