import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdPostgresStore
import ChatterdRelay

/// `GET /audit`, for administrators: docs/api.md.
struct AuditRoute: Sendable {
    /// The number of entries unless the request says otherwise.
    static let standardLimit = 100

    let registry: AccessRegistry

    /// Lists the newest entries of the audit log, or those before the entry of `?before=`.
    @Sendable func list(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        let limit = try request.queryNumber("limit", in: 1...AppKeyStore.auditLimit) ?? Self.standardLimit
        let before = try request.queryNumber("before", in: 1...Int.max)
        let entries = try await registry.store.auditEntries(before: before, limit: limit)
        var body = ByteBuffer()
        body.appendJSON { json in
            json.object { json in
                json.array("entries") { json in
                    for entry in entries {
                        json.object { entry.write(to: &$0) }
                    }
                }
            }
        }
        responder.respond(json: body)
    }
}

extension Request {
    /// A whole number of the query; `nil` if it is absent.
    ///
    /// - Throws: `invalidRequest`.
    func queryNumber(_ name: String, in range: ClosedRange<Int>) throws(RelayError) -> Int? {
        guard let text = head.target.queryItem(name) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw RelayError(.invalidRequest, "\(name) must be a whole number from \(range.lowerBound) on.")
        }
        return number
    }
}

extension AuditRecord {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("at", Int(at))
        json.member("actor", actor)
        json.member("action", action)
        json.member("app", app)
        json.member("subject", subject)
    }
}
