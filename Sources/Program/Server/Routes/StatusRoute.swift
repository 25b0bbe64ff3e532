import ChatterdBasics
import ChatterdHTTPServer
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets

/// `GET /`, `GET /healthz` and `GET /readyz`: docs/api.md.
struct StatusRoute: Sendable {
    let services: ShardedServices
    let state: ServerState
    /// Timeout of the check of the store.
    let timeout: Duration

    /// Answers with the name and the version of the program, as a JSON string.
    @Sendable func identity(_ request: Request, _ responder: Responder) async {
        var body = ByteBuffer()
        body.append(jsonString: "chatterd \(Version.current)")
        responder.respond(json: body)
    }

    /// Answers that the process runs, without a look at the database.
    @Sendable func health(_ request: Request, _ responder: Responder) async {
        responder.respond(json: Self.status("ok"))
    }

    /// Answers whether the server accepts prompts: the store accepts writes, and the server is not stopping.
    @Sendable func readiness(_ request: Request, _ responder: Responder) async {
        guard !state.isDraining else {
            responder.refuse(RelayError(.shuttingDown, "The server is being stopped."))
            return
        }
        do throws(RelayError) {
            try await check(services[request].chatBoard, on: request.shard)
            responder.respond(json: Self.status("ready"))
        } catch {
            responder.refuse(error)
        }
    }

    private func check(_ chatBoard: ChatBoard, on shard: Shard) async throws(RelayError) {
        let chatBoard = Confined(chatBoard, to: shard)
        let result: Result<Void, RelayError>
        do throws(TimeoutError) {
            result = try await shard.withTimeout(timeout) { () async -> Result<Void, RelayError> in
                do throws(RelayError) {
                    return .success(try await chatBoard.value.checkStore())
                } catch {
                    return .failure(error)
                }
            }
        } catch {
            throw RelayError(.storeUnavailable, "The database does not answer.", detail: "no answer in time")
        }
        try result.get()
    }

    private static func status(_ word: String) -> ByteBuffer {
        var body = ByteBuffer()
        body.appendJSON { json in json.object { $0.member("status", word) } }
        return body
    }
}
