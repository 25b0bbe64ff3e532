import ChatterdBasics
import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdHTTPServer
import ChatterdJSONLog
import ChatterdLanguageModels
import ChatterdModelServers
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets

/// The model server that `/llmprompt` is passed on to.
public struct Generator: Sendable {
    let client: HTTPClient
    let origin: Origin
    let fields: Fields
    let limits: GenerationLimits
    /// The server's key. No error repeats it.
    let key: String?
}
