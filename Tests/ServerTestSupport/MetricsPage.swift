import ChatterdBasics
import ChatterdServer
import ChatterdSockets
import ChatterdTestSupport

/// A page of metrics, as Prometheus reads it: series with their labels, and their values.
struct MetricsPage {
    let exchange: HTTPExchange
    private let values: [String: String]

    init(_ exchange: HTTPExchange) {
        self.exchange = exchange
        let lines = exchange.text.split(separator: "\n").filter { !$0.hasPrefix("#") }
        values = Dictionary(
            lines.compactMap { line in
                line.lastIndex(of: " ").map { (String(line[..<$0]), String(line[line.index(after: $0)...])) }
            }
        ) { first, _ in "\(first) twice" }
    }

    /// The value of a series; `nil` for none.
    subscript(_ series: String) -> Int? { values[series].flatMap { Int($0) } }

    /// The values of all series of a metric, by their labels; those that are 0 are left out.
    func series(_ name: String) -> [String: Int] {
        var found: [String: Int] = [:]
        for (series, value) in values where series.hasPrefix(name + "{") || series == name {
            if let value = Int(value), value != 0 { found[String(series.dropFirst(name.count))] = value }
        }
        return found
    }
}

extension Stage {
    /// Sends a request to the listener of metrics.
    func askMetrics(
        _ path: String = "/metrics", method: String = "GET", accept: String? = nil
    ) throws -> HTTPExchange {
        guard let address = application.metricsAddress else { throw TestFailure("no listener of metrics") }
        return try RawClient.get(
            port: Int(address.port), path, method: method, fields: accept.map { [("Accept", $0)] } ?? [])
    }

    /// The metrics.
    func metrics() throws -> MetricsPage {
        let page = MetricsPage(try askMetrics())
        guard page.exchange.status == 200 else { throw TestFailure(page.exchange.text) }
        return page
    }
}
