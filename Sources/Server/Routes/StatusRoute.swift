import ChatterdBasics
import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets
import Synchronization

/// `GET /`, `GET /healthz` and `GET /readyz`: docs/api.md.
struct StatusRoute: Sendable {
    let services: [ShardServices]
    let state: ServerState
    /// How long a probe is kept waiting.
    let patience: Duration

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
        let board = services[request].board
        let error = await Verdict.of(on: request.shard, within: patience) {
            do throws(RelayError) {
                try await board.checkStore()
                return nil
            } catch {
                return error
            }
        }
        if let error {
            responder.refuse(error)
        } else {
            responder.respond(json: Self.status("ready"))
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

/// What comes first: the outcome of a check, or the end of the patience with it. Confined to its shard.
private final class Verdict: @unchecked Sendable {
    private var answer: CheckedContinuation<RelayError?, Never>?
    private var timer: DeadlineTimer?

    private init(_ answer: CheckedContinuation<RelayError?, Never>) {
        self.answer = answer
    }

    static func of(
        on shard: Shard, within patience: Duration, _ check: @escaping @Sendable () async -> RelayError?
    ) async -> RelayError? {
        await withCheckedContinuation { answer in
            let verdict = Verdict(answer)
            let timer = DeadlineTimer(on: shard) {
                verdict.give(
                    RelayError(.storeUnavailable, "The database does not answer.", detail: "no answer in time"))
            }
            timer.set(after: patience)
            verdict.timer = timer
            Task(executorPreference: shard) { verdict.give(await check()) }
        }
    }

    private func give(_ error: RelayError?) {
        timer = nil
        answer.take()?.resume(returning: error)
    }
}
