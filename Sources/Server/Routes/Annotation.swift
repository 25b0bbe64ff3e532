import ChatterdBasics
import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdJSONLog
import ChatterdLanguageModels
import ChatterdModelServers
import ChatterdPostgresStore
import ChatterdRelay

/// What handlers note for the log.
enum Annotation {
    static let appID = "app"
    static let code = "code"
    /// The operator's part of an error: logged as an event of its own.
    static let detail = "detail"
}
