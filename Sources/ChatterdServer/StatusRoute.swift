import Bytes
import HTTP
import HTTPServer
import Relay
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

/// `GET /`, `GET /healthz` and `GET /readyz`: docs/api.md.
struct StatusRoute: Sendable {
    let services: [ShardServices]
    let state: ServerState

    /// Says what this server is, as a JSON string.
    @Sendable func identity(_ request: Request, _ responder: Responder) async {
        var body = ByteBuffer()
        body.append(jsonString: "chatterd \(Version.current)")
        responder.respond(json: body)
    }

    /// Says that the process lives; asks nobody.
    @Sendable func health(_ request: Request, _ responder: Responder) async {
        responder.respond(json: Self.status("ok"))
    }

    /// Says whether prompts can be taken: the store takes writes, and the server is not being stopped.
    @Sendable func readiness(_ request: Request, _ responder: Responder) async {
        guard !state.isDraining else {
            responder.refuse(RelayError(.shuttingDown, "The server is being stopped."))
            return
        }
        do throws(RelayError) {
            try await services[request].board.checkStore()
            responder.respond(json: Self.status("ready"))
        } catch {
            responder.refuse(error)
        }
    }

    private static func status(_ word: String) -> ByteBuffer {
        var body = ByteBuffer()
        body.append("{\"status\":")
        body.append(jsonString: word)
        body.append("}")
        return body
    }
}
