import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdServer

/// Arguments that make no command.
public struct CommandUsageError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What is wrong, in one sentence.
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}
