import ChatterdConfiguration
import ChatterdJSONLog
import ChatterdPostgresStore

/// The version of the program.
public enum Version {
    /// As `chatterd version` prints it.
    public static let current = "0.1.0"
}
