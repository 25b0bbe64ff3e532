import ChatterdBasics
import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets

extension Log {
    /// Logs an exchange, and what a handler had to say to the operator.
    func record(_ exchange: ExchangeRecord) {
        func note(_ key: String) -> String? {
            exchange.annotations.last { $0.key == key }?.value
        }
        let code: Word
        if let noted = note(Annotation.code) {
            code = Word(code: noted)
        } else {
            switch exchange.outcome {
            case .completed: code = "ok"
            case .clientGone: code = "client_gone"
            case .aborted: code = "aborted"
            case .refused(let refusal): code = Word(refusal: refusal)
            }
        }
        request(
            Request(
                id: exchange.id, route: Word(Route(rawValue: exchange.route ?? "") ?? .none),
                method: exchange.method?.name ?? "-", status: exchange.status?.code ?? 0,
                appID: note(Annotation.appID), bytesIn: exchange.bytesIn, bytesOut: exchange.bytesOut,
                firstByte: exchange.timeToResponse, total: exchange.total, code: code))
        if let detail = note(Annotation.detail) {
            event(.warning, "request failed", .id(exchange.id), .code(code), .error(detail))
        }
    }
}

extension Log.Word {
    /// The code of a relay error; only those that exist.
    fileprivate init(code: String) {
        self.init(known: RelayError.Code.all.contains { $0.rawValue == code } ? code : "other")
    }

    /// The code of a refusal of the HTTP layer, which makes them from its own closed set.
    fileprivate init(refusal: String) {
        self.init(known: refusal)
    }
}
