import ChatterdBasics
import ChatterdConfiguration
import ChatterdJSONLog
import ChatterdLanguageModels
import ChatterdModelServers
import ChatterdPostgres
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets

/// Why the server could not be started, in words for whoever started it.
public struct StartError: Error, Sendable, CustomStringConvertible {
    /// The words.
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}
