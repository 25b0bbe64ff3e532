import ChatterdBasics
import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets
import Synchronization

/// Whether the server takes work.
final class ServerState: Sendable {
    private let draining = Atomic<Bool>(false)

    /// Whether the server is being stopped.
    var isDraining: Bool { draining.load(ordering: .relaxed) }

    func drain() {
        draining.store(true, ordering: .relaxed)
    }
}
