import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdMetrics

extension MetricCounts {
    /// Counts an exchange that has ended. Its route is a pattern of the router, never a path.
    func count(_ exchange: ExchangeRecord) {
        let route = exchange.route ?? "-"
        let status = exchange.status.map { String($0.code) } ?? "0"
        add(to: .requests, route, exchange.methodLabel, status, exchange.code)
        observe(exchange.total, in: .requestDuration, route)
        if let cut = exchange.cut {
            add(to: .slowReadersCut, cut.rawValue)
        }
    }
}

extension ExchangeRecord {
    /// The method if it is one of those that RFC 9110 and 5789 define; a client may send any token.
    var methodLabel: String {
        guard let method else { return "-" }
        return knownMethods.contains(method) ? method.name : "other"
    }
}

private let knownMethods: [Method] = [.get, .post, .delete, .head, .put, .patch, .options]
