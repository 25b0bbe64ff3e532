import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdJSONLog
import ChatterdRelay

extension Log {
    /// Logs an exchange, and the details of an error that its handler has noted.
    func record(_ exchange: ExchangeRecord) {
        func annotation(_ key: String) -> String? {
            exchange.annotations.last { $0.key == key }?.value
        }
        let code: Word
        if let text = annotation(Annotation.code) {
            code = Word(code: text)
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
                appID: annotation(Annotation.appID), bytesIn: exchange.bytesIn, bytesOut: exchange.bytesOut,
                firstByte: exchange.timeToResponse, total: exchange.total, code: code))
        if let detail = annotation(Annotation.detail) {
            event(.warning, "request failed", .id(exchange.id), .code(code), .error(detail))
        }
    }
}

extension Log.Word {
    /// The code of a relay error; `other` for an unknown code.
    fileprivate init(code: String) {
        self.init(known: RelayError.Code.all.contains { $0.rawValue == code } ? code : "other")
    }

    /// The code of a refusal of the HTTP layer, which has a closed set of codes.
    fileprivate init(refusal: String) {
        self.init(known: refusal)
    }
}
