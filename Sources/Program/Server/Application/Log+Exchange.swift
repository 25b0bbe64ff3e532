import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdJSONLog
import ChatterdRelay

extension Log {
    /// Logs an exchange with its reply, the details of an error that its handler has noted, and a client that was disconnected because it read
    /// too slowly. Called on the shard of the exchange.
    func record(_ exchange: ExchangeRecord) {
        let code = Word(known: exchange.code)
        var request = Request(
            id: exchange.id, route: Word(known: exchange.route ?? Route.none.rawValue),
            method: exchange.method?.name ?? "-", status: exchange.status?.code ?? 0,
            appID: exchange.annotation(Annotation.appID), conversation: exchange.annotation(Annotation.conversation),
            bytesIn: exchange.bytesIn, bytesOut: exchange.bytesOut,
            firstByte: exchange.timeToResponse, total: exchange.total, code: code)
        if let facts = exchange.notes.facts?.value, let upstream = facts.upstream {
            (request.upstream, request.model) = (upstream, facts.model)
            (request.promptTokens, request.answerTokens) = (facts.promptTokens, facts.answerTokens)
            (request.firstToken, request.attempts) = (facts.timeToFirstToken, facts.requests)
        }
        self.request(request)
        if let detail = exchange.annotation(Annotation.detail) {
            event(.warning, "request failed", .id(exchange.id), .code(code), .error(detail))
        }
        if let cut = exchange.cut {
            event(.warning, "slow reader disconnected", .id(exchange.id), .subject(Word(cut)))
        }
    }
}

extension ExchangeRecord {
    /// A word of a closed set: `ok`, the code of an error, `client_gone` or `aborted`.
    var code: String {
        if let code = annotation(Annotation.code) {
            return relayCodes.contains { $0 == code } ? code : "other"
        }
        return switch outcome {
        case .completed: "ok"
        case .clientGone: "client_gone"
        case .aborted: "aborted"
        // The codes of the HTTP layer are literals.
        case .refused(let code): code
        }
    }

    func annotation(_ key: String) -> String? {
        annotations.last { $0.key == key }?.value
    }
}

private let relayCodes = RelayError.Code.all.map(\.rawValue)
