import ChatterdBasics
import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdRelay

/// What a client is sent of a reply.
enum ReplyForm: Sendable {
    /// One object, when it is complete.
    case whole
    /// Events, with its places in the queue of a model server among them if the client wants that.
    case events(tellsQueue: Bool)

    init(stream: Bool, tellsQueue: Bool) {
        self = stream ? .events(tellsQueue: tellsQueue) : .whole
    }
}
