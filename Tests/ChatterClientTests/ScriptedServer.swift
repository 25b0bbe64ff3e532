import ChatterdBasics
import ChatterdHTTP

@testable import ChatterClient

/// A transport whose connections are written down before: each request gets the next one.
final class ScriptedServer: Sendable {
    /// The script of a connection.
    enum Connection: Sendable {
        /// A response with these pieces of its body, after which the connection is lost, or the body ends.
        case response(Int, location: String? = nil, [String], isLost: Bool = true)
        /// No connection.
        case failure(ChatterError)
    }

    private struct State {
        var connections: [Connection]
        var requests: [ClientRequest] = []
    }

    private let state: Lock<State>

    init(_ connections: Connection...) {
        state = Lock(State(connections: connections))
    }

    /// The requests so far.
    var requests: [ClientRequest] { state.withLock(\.requests) }

    /// A client of this server, which does not pause between attempts.
    func client(
        _ credential: Credential = .app("tests"), start: Duration = .seconds(1), resumption: Duration = .seconds(1)
    ) -> ChatterClient {
        let retries = RetryPolicy(
            first: .nanoseconds(1), longest: .nanoseconds(1), start: start, resumption: resumption)
        let transport = Transport { [self] request throws(ChatterError) in try respond(to: request) }
        return ChatterClient(
            address: "http://scripted.example", transport: transport, credential: credential, retries: retries)
    }

    private func respond(to request: ClientRequest) throws(ChatterError) -> ClientResponse {
        let connection = state.withLock { state -> Connection? in
            state.requests.append(request)
            return state.connections.isEmpty ? nil : state.connections.removeFirst()
        }
        switch connection {
        case nil: throw .unreachable("the script is over")
        case .failure(let error): throw error
        case .response(let code, let location, let pieces, let isLost):
            var fields = Fields()
            if let location, let value = FieldValue(validating: location) {
                fields.add(.location, value)
            }
            let left = Lock(pieces)
            let body = ResponseBody(
                read: { () throws(ChatterError) in
                    if let piece = left.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { return Array(piece.utf8) }
                    if isLost { throw .connectionLost("cut by the script") }
                    return nil
                }, close: {})
            return ClientResponse(head: ResponseHead(status: Status(code) ?? .ok, fields: fields), body: body)
        }
    }
}

/// An event of a reply as chatterd writes it.
func textEvent(_ id: String, _ text: String, done: Bool = false) -> String {
    """
    id: \(id)
    data: {"model":"m","created_at":"2026-11-20T14:28:59.399655470Z","message":{"role":"assistant","content":"\(text)"},\
    "done":\(done)\(done ? ",\"done_reason\":\"stop\",\"prompt_eval_count\":3,\"eval_count\":5" : "")}


    """
}

/// An error event; one with an id is the end of the reply.
func errorEvent(_ id: String?, _ code: String, retryable: Bool = true) -> String {
    """
    \(id.map { "id: \($0)\n" } ?? "")event: error
    data: {"error":"It failed.","code":"\(code)","retryable":\(retryable),"message":{"content":"It failed."},"done":true}


    """
}
